export type JsonObject = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Digits that may exceed a double: a cheap first check, which also matches inside strings. */
const LONG_NUMBER = /(?:^|[\s[:,])-?\d{16}|\d[eE]\+?\d{3}/
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/gs

/** A number that `JSON.parse` rounds or makes infinite: the API rejects it by the same check (src/admin/http/body.ts). */
export const holdsLossyNumber = (text: string): boolean => {
  if (!LONG_NUMBER.test(text)) return false
  for (const [literal] of text.matchAll(STRING_OR_NUMBER)) {
    if (literal.startsWith('"')) continue
    const number = Number(literal)
    if (!Number.isFinite(number)) return true
    if (/^-?\d{16,}$/.test(literal) && BigInt(literal) !== BigInt(number)) return true
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
