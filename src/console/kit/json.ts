export type JsonObject = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Numbers that a double may not hold: a cheap first check, which also matches inside strings. */
const LONG_NUMBER = /(?:^|[\s[:,])-?(?:\d{16}|\d[\d.]*[eE]|0\.0{300})/
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/gs

/** Significant digits, and the power of ten of the last one: the same for `1e3` and `1000.0`. */
const decimalOf = (literal: string): string => {
  const [, whole = '', fraction = '', exponent = '0'] =
    /(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?/i.exec(literal) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  let end = digits.length
  while (digits[end - 1] === '0') end--
  return `${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`
}

/** Whether a double changes a number: an integer part that it cannot hold, or a number out of its range. */
const isLossy = (literal: string): boolean => {
  const number = Number(literal)
  if (number === 0) return /^-?[0.]*[1-9]/.test(literal)
  return Math.abs(number) > Number.MAX_SAFE_INTEGER && decimalOf(literal) !== decimalOf(String(number))
}

/** A number that `JSON.parse` rounds or makes infinite: the API rejects it by the same check (src/admin/http/body.ts). */
export const holdsLossyNumber = (text: string): boolean => {
  if (!LONG_NUMBER.test(text)) return false
  for (const [literal] of text.matchAll(STRING_OR_NUMBER)) {
    if (!literal.startsWith('"') && isLossy(literal)) return true
  }
  return false
}

export type Parsed<T> =
  | { readonly value: T; readonly error?: never }
  | { readonly value?: never; readonly error: string }

/** The value of a JSON text as it was typed, or a sentence that says what is wrong. */
export const parseJson = (text: string): Parsed<unknown> => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (thrown) {
    return { error: `This is not JSON: ${(thrown as Error).message}.` }
  }
  return holdsLossyNumber(text)
    ? { error: 'A number here cannot be stored exactly. Write it as a string.' }
    : { value }
}
