import { isObject } from '../../common/json.ts'
import { badFilter } from '../errors.ts'
import {
  charArg,
  type FilterRules,
  flagArg,
  type InnerFilter,
  patternArg,
  searching,
  setArg,
  stringArg,
  textOf,
} from './filter.ts'

/** Number of digits of a card's BIN: 8 for 16 or more digits, else 6. */
export const binLength = (digits: number): number => (digits >= 16 ? 8 : 6)

/** `card_bin: separator=''`: the first digits, without separators. */
const cardBin: InnerFilter = (value, args, name, use) => {
  stringArg(args, 0, name, '')
  const separator = patternArg(args, 0, name)
  const number = textOf(value, name)
  use(searching(number, separator))
  const digits = separator === '' ? number : number.replaceAll(separator, '')
  return digits.slice(0, binLength(digits.length))
}

/**
 * `card_mask: reveal_bin='false', reveal_last4='false', char='X', keep=''`: characters in `keep` stay and do not count.
 * Masks everything when the result would show the complete number.
 */
const cardMask: InnerFilter = (value, args, name) => {
  const characters = [...textOf(value, name)]
  const showBin = flagArg(args, 0, name)
  const showLast = flagArg(args, 1, name)
  const char = charArg(args, 2, name, 'X')
  const keep = setArg(args, 3, name)
  const digits = characters.filter((character) => !keep.has(character)).length
  const first = showBin ? binLength(digits) : 0
  const last = showLast ? 4 : 0
  const hideAll = first + last >= digits
  let at = 0
  return characters
    .map((character) => {
      if (keep.has(character)) return character
      const shown = !hideAll && (at < first || at >= digits - last)
      at++
      return shown ? character : char
    })
    .join('')
}

const integerOf = (value: unknown): number | undefined => {
  if (typeof value === 'number') return Number.isInteger(value) ? value : undefined
  return typeof value === 'string' && /^\d{1,4}$/.test(value) ? Number(value) : undefined
}

const EXPIRY_FORMATS: Readonly<Record<string, (month: string, year: string) => string>> = {
  MM: (month) => month,
  MMYY: (month, year) => month + year.slice(2),
  YYYY: (_month, year) => year,
  'YYYY-MM': (month, year) => `${year}-${month}`,
  'YYYY/MM': (month, year) => `${year}/${month}`,
  'MM/YY': (month, year) => `${month}/${year.slice(2)}`,
  'MM/YYYY': (month, year) => `${month}/${year}`,
  MM_YYYY: (month, year) => `${month}_${year}`,
  'MM-YYYY': (month, year) => `${month}-${year}`,
}

/** `card_exp: format`: month and year of a card object; null when the card has no month or no year. */
const cardExp: InnerFilter = (value, args, name) => {
  const format = stringArg(args, 0, name)
  const print = Object.hasOwn(EXPIRY_FORMATS, format) ? EXPIRY_FORMATS[format] : undefined
  if (print === undefined)
    throw badFilter(
      name,
      `does not support this format; use one of ${Object.keys(EXPIRY_FORMATS).join(', ')}.`,
    )
  if (!isObject(value)) throw badFilter(name, 'needs a card object, not one of its members.')
  if (value.expiration_month == null || value.expiration_year == null) return null
  const month = integerOf(value.expiration_month)
  const year = integerOf(value.expiration_year)
  if (month === undefined || month < 1 || month > 12 || year === undefined || year < 1000 || year > 9999)
    throw badFilter(name, 'needs a card with a month from 1 to 12 and a year of four digits.')
  return print(String(month).padStart(2, '0'), String(year))
}

export const cardFilters: FilterRules = {
  card_bin: { run: cardBin, rate: 1 / 4 },
  card_mask: { run: cardMask, rate: 4 },
  card_exp: { run: cardExp, rate: 1, isShallow: true, forOpaque: 'not in URLs' },
}
