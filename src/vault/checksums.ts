import type { NamedCheck } from '../sdk/index.ts'

/** Luhn (ISO/IEC 7812-1 annex B) over digits only. */
const luhn = (text: string): boolean => {
  if (!/^\d{2,}$/.test(text)) return false
  let sum = 0
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(text.length - 1 - i) - 48
    const weighted = i % 2 === 1 ? digit * 2 : digit
    sum += weighted > 9 ? weighted - 9 : weighted
  }
  return sum % 10 === 0
}

const ABA_WEIGHTS = [3, 7, 1]

/** Checksum of ABA routing numbers. */
const aba = (text: string): boolean =>
  /^\d{9}$/.test(text) &&
  [...text].reduce((sum, digit, i) => sum + Number(digit) * (ABA_WEIGHTS[i % 3] ?? 0), 0) % 10 === 0

/** IBAN check digits (ISO 13616, ISO 7064 MOD 97-10); blanks between groups are ignored. */
const iban = (text: string): boolean => {
  const compact = text.replaceAll(' ', '').toUpperCase()
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(compact)) return false
  let remainder = 0
  for (const character of compact.slice(4) + compact.slice(0, 4))
    for (const digit of Number.parseInt(character, 36).toString())
      remainder = (remainder * 10 + Number(digit)) % 97
  return remainder === 1
}

/** The checks that a declarative token type can name, with their error messages. */
export const CHECKSUMS: Readonly<
  Record<NamedCheck, { readonly passes: (text: string) => boolean; readonly message: string }>
> = {
  luhn: { passes: luhn, message: 'must pass the Luhn check' },
  aba: { passes: aba, message: 'must pass the ABA checksum' },
  iban: { passes: iban, message: 'must have valid IBAN check digits' },
}
