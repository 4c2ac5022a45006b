/** Liquid's standard filters for lists, and for texts as lists of characters. */
import { toText, weigh } from '../values.ts'
import { type FilterRules, type InnerFilter, liquidText } from './filter.ts'

/** Units for each character or element. */
const RATE = 1 / 16

const elementAt =
  (at: number): InnerFilter =>
  (value) =>
    Array.isArray(value) || (typeof value === 'string' && value !== '') ? (value.at(at) ?? null) : ''

const size: InnerFilter = (value) => (Array.isArray(value) || typeof value === 'string' ? value.length : 0)

const join: InnerFilter = (value, args, _name, use) => {
  const separator = args[0] === null || args[0] === undefined ? ' ' : liquidText(args[0])
  if (value === null || value === undefined) return ''
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  use(list.length * separator.length * RATE)
  return list.map(toText).join(separator)
}

/** `slice: begin, length=1`: a negative `begin` counts from the end. */
const slice: InnerFilter = (value, args, _name, use) => {
  if (value === null || value === undefined) return []
  if (!Array.isArray(value)) weigh(value, (characters) => use(characters * RATE))
  const list: string | readonly unknown[] = Array.isArray(value) ? value : liquidText(value)
  const characters = typeof list === 'string' ? wide(list) : list
  const length = Math.trunc(Number(args[1] ?? 1)) || 0
  const start = Math.trunc(Number(args[0] ?? 0)) || 0
  const begin = start < 0 ? characters.length + start : start
  const isNothing = begin < 0 || length < 0
  const part = characters.slice(isNothing ? 0 : begin, isNothing ? 0 : begin + length)
  if (typeof part === 'string') return part
  if (typeof list === 'string') return part.join('')
  use(part.length * RATE)
  return part
}

/** The text, or a list of its characters when it contains surrogate pairs, which must not be split. */
const wide = (text: string): string | readonly string[] => (/[\ud800-\udfff]/.test(text) ? [...text] : text)

const isMissing = (value: unknown, allowsFalse: boolean): boolean =>
  value === null ||
  value === undefined ||
  (value === false && !allowsFalse) ||
  ((typeof value === 'string' || Array.isArray(value)) && value.length === 0)

export const listFilters: FilterRules = {
  first: { run: elementAt(0), rate: RATE, isShallow: true, takesNull: true },
  last: { run: elementAt(-1), rate: RATE, isShallow: true, takesNull: true },
  size: { run: size, rate: RATE, isShallow: true, takesNull: true },
  join: { run: join, rate: RATE, takesNull: true },
  slice: { run: slice, rate: 1 / 2, isShallow: true, takesNull: true },
  /** `default: value, allow_false: true`. */
  default: {
    run: (value, [otherwise, allowFalse]) => (isMissing(value, allowFalse === true) ? otherwise : value),
    rate: RATE,
    isShallow: true,
    takesNull: true,
    named: 'allow_false',
  },
}
