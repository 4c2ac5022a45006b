import { badFilter } from '../errors.ts'
import { LIMITS } from '../limits.ts'
import { toText } from '../values.ts'

/**
 * What a filter does with a value that is there and its arguments. `name` is for its errors. Before it makes more than
 * it was given, or does more than look at it once, it counts that with `use` (units of work.ts).
 */
export type InnerFilter = (
  value: unknown,
  args: readonly unknown[],
  name: string,
  use: (units: number) => void,
) => unknown

export interface FilterRule {
  readonly run: InnerFilter
  /** Units of up to 0.1 µs for each character of its value, of its arguments and of its result. */
  readonly rate: number
  /** It looks at no more of a list or an object than an element; what it does with more it counts itself. */
  readonly isShallow?: boolean
  /** It is asked for null, too, as standard filters are; for others null in is null out (completions §6). */
  readonly takesNull?: boolean
  /** It counts what it makes itself, before it makes it. */
  readonly countsResult?: boolean
  /** It gets bytes as they are, not as base64. */
  readonly takesBytes?: boolean
  /** The one argument that may be given by name; it comes last. */
  readonly named?: string
}

export type FilterRules = Readonly<Record<string, FilterRule>>

/** The text of a string, number or boolean; anything else is refused. */
export const textOf = (value: unknown, name: string): string => {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw badFilter(name, 'needs text or a number; select a member of the object first, e.g. with "json".')
}

/** The text of any value for a standard filter: null is empty, a list its elements, an object JSON. */
export const liquidText = (value: unknown): string =>
  Array.isArray(value) ? value.map(liquidText).join('') : toText(value)

/** What is searched for in a text: of bounded length, for it is looked for at every place. */
export const patternArg = (args: readonly unknown[], at: number, name: string): string => {
  const pattern = liquidText(args[at])
  if (pattern.length > LIMITS.pattern)
    throw badFilter(name, `searches for at most ${LIMITS.pattern} characters.`)
  return pattern
}

/** Units for a search of `pattern` in all of `text`, besides what its characters count for. */
export const searching = (text: string, pattern: string): number => (text.length * pattern.length) / 256

/** A whole number ≥ 0 and ≤ `most`, given as number or digits. */
export const countArg = (
  args: readonly unknown[],
  at: number,
  name: string,
  fallback?: number,
  most = 1_000_000,
): number => {
  const given = args[at] ?? fallback
  const count = typeof given === 'string' && /^\d{1,9}$/.test(given) ? Number(given) : given
  if (typeof count !== 'number' || !Number.isInteger(count) || count < 0 || count > most)
    throw badFilter(name, `needs a whole number from 0 to ${most} as argument ${at + 1}.`)
  return count
}

export const stringArg = (args: readonly unknown[], at: number, name: string, fallback?: string): string => {
  const given = args[at] ?? fallback
  if (typeof given === 'string') return given
  if (typeof given === 'number') return String(given)
  throw badFilter(name, `needs text in quotes as argument ${at + 1}.`)
}

/** Exactly one character. */
export const charArg = (args: readonly unknown[], at: number, name: string, fallback?: string): string => {
  const text = stringArg(args, at, name, fallback)
  if (text.length > 2 || [...text].length !== 1)
    throw badFilter(name, `needs a single character as argument ${at + 1}.`)
  return text
}

/** The characters of a text of bounded length; none when it is left out. */
export const setArg = (args: readonly unknown[], at: number, name: string): ReadonlySet<string> => {
  stringArg(args, at, name, '')
  return new Set(patternArg(args, at, name))
}

/** `true`, `false`, `'true'` or `'false'`. */
export const flagArg = (args: readonly unknown[], at: number, name: string): boolean => {
  const given = args[at] ?? false
  if (typeof given === 'boolean') return given
  const text = typeof given === 'string' ? given.toLowerCase() : ''
  if (text === 'true' || text === 'false') return text === 'true'
  throw badFilter(name, `needs 'true' or 'false' as argument ${at + 1}.`)
}
