export type JsonObject = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A cheap first check, which also matches inside strings. */
const LONG_NUMBER = /(?:^|[\s[:,])-?(?:\d{16}|\d[\d.]*[eE]|0\.0{300})/
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/gs

/** Significant digits: the same for `1e3` and `1000.0`. */
const digitsOf = (literal: string): string | undefined =>
  /[1-9](?:\d*[1-9])?/.exec(literal.replace(/e.*|\./gi, ''))?.[0]

const isLossy = (literal: string): boolean => {
  const number = Number(literal)
  return (
    (number === 0 || Math.abs(number) > Number.MAX_SAFE_INTEGER) &&
    digitsOf(literal) !== digitsOf(String(number))
  )
}

/** Whether `JSON.parse` changes a number: the API rejects it by the same check (src/admin/http/body.ts). */
export const holdsLossyNumber = (text: string): boolean => {
  if (!LONG_NUMBER.test(text)) return false
  for (const [literal] of text.matchAll(STRING_OR_NUMBER))
    if (!literal.startsWith('"') && isLossy(literal)) return true
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
