import { badFilter } from '../errors.ts'
import { LIMITS } from '../limits.ts'
import { toText } from '../values.ts'
import { charArg, countArg, type FilterRules, type InnerFilter, textOf } from './filter.ts'

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?$/

/** True when an integer of a text changes its digits as a JSON number. */
const losesDigits = (text: string, number: number): boolean =>
  /^[+-]?\d+$/.test(text) && BigInt(text.replace('+', '')) !== BigInt(number)

/** `to_number`: rejects other text, and integers that a JSON number cannot represent exactly. */
const toNumber: InnerFilter = (value, _args, name) => {
  if (typeof value === 'number') return value
  const text = typeof value === 'string' ? value.trim() : ''
  const number = text.length <= 400 && NUMBER.test(text) ? Number(text) : Number.NaN
  if (!Number.isFinite(number)) throw badFilter(name, 'cannot read the value as a number.')
  if (losesDigits(text, number))
    throw badFilter(name, 'cannot represent the value exactly: it has too many digits. Send it as text.')
  return number === 0 ? 0 : number
}

const BOOLEANS: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  ['true', true],
  ['1', true],
  [1, true],
  ['false', false],
  ['0', false],
  [0, false],
])

const toBoolean: InnerFilter = (value, _args, name) => {
  if (typeof value === 'boolean') return value
  const result = BOOLEANS.get(typeof value === 'string' ? value.trim().toLowerCase() : value)
  if (result === undefined) throw badFilter(name, 'cannot read the value as true or false.')
  return result
}

/** `to_string`: rejects objects and arrays; use `stringify` for them. */
const toStringFilter: InnerFilter = (value, _args, name) => textOf(value, name)

/** `stringify`: text unchanged, other values as JSON text. */
const stringify: InnerFilter = (value) => toText(value)

/** The result is at most LIMITS.padding characters longer than the input, and charged afterwards. */
const padLeft: InnerFilter = (value, args, name) =>
  textOf(value, name).padStart(
    countArg(args, 0, name, undefined, LIMITS.padding),
    charArg(args, 1, name, ' '),
  )

const padRight: InnerFilter = (value, args, name) =>
  textOf(value, name).padEnd(countArg(args, 0, name, undefined, LIMITS.padding), charArg(args, 1, name, ' '))

export const castFilters: FilterRules = {
  to_number: { run: toNumber, rate: 1 / 4, isShallow: true },
  to_boolean: { run: toBoolean, rate: 1 / 16, isShallow: true },
  to_string: { run: toStringFilter, rate: 1 / 16, isShallow: true, forOpaque: 'anywhere' },
  stringify: { run: stringify, rate: 1 / 8, forOpaque: 'anywhere' },
  pad_left: { run: padLeft, rate: 1 / 16, isShallow: true },
  pad_right: { run: padRight, rate: 1 / 16, isShallow: true },
}
