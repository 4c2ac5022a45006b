import type { Filter } from 'sidevault/sdk'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const WEIGHTS = [7, 3, 1]

/** Check digit of a machine-readable field (ICAO 9303-3 §4.9); `<` counts as 0. */
const checkDigit = (field: string): number =>
  [...field].reduce(
    (sum, character, i) => sum + Math.max(0, ALPHABET.indexOf(character)) * (WEIGHTS[i % 3] ?? 0),
    0,
  ) % 10

/** `{{ <token> | json: '$.number' | mrz_number }}`: nine characters filled with `<`, and their check digit. */
export const mrzNumber: Filter = (value) => {
  const field = String(value).toUpperCase().padEnd(9, '<')
  return `${field}${checkDigit(field)}`
}
