import { badFilter } from '../errors.ts'
import { LIMITS } from '../limits.ts'
import { toText } from '../values.ts'

/**
 * Applies a filter to a value and its arguments. `name`: for errors. A filter calls `use` (units of work.ts) before it
 * creates more than its input, or reads the input more than once.
 */
export type InnerFilter = (
  value: unknown,
  args: readonly unknown[],
  name: string,
  use: (units: number) => void,
) => unknown

export interface FilterRule {
  readonly run: InnerFilter
  /** Units of up to 0.1 µs for each character of value, arguments and result. */
  readonly rate: number
  /** Reads at most one element of a list or object; charges further work itself. */
  readonly isShallow?: boolean
  /** Called for null too, like standard filters. Other filters return null for null (completions §6). */
  readonly takesNull?: boolean
  /** Charges its result itself, before creating it. */
  readonly countsResult?: boolean
  /** Gets raw bytes instead of base64. */
  readonly takesBytes?: boolean
  /**
   * Where it may be applied to a value that the sender may not see (docs/adr/0120): it changes or encodes the complete
   * value, and nothing fails for the characters of its result. `not in URLs`: its result may hold a `/`. Absent:
   * nowhere.
   */
  readonly forOpaque?: 'anywhere' | 'not in URLs' | ((args: readonly unknown[]) => boolean)
  /** Its arguments may be variables. */
  readonly takesVariables?: boolean
  /** The only argument that can be named; the last one. */
  readonly named?: string
}

export type FilterRules = Readonly<Record<string, FilterRule>>

/** Text of a string, number or boolean; throws for other values. */
export const textOf = (value: unknown, name: string): string => {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw badFilter(name, 'needs text or a number; select a member of the object first, e.g. with "json".')
}

/** Text of any value for a standard filter: null is empty, a list its elements, an object JSON. */
export const liquidText = (value: unknown): string =>
  Array.isArray(value) ? value.map(liquidText).join('') : toText(value)

/** A search pattern. Its length is bounded, because it is compared at every position. */
export const patternArg = (args: readonly unknown[], at: number, name: string): string => {
  const pattern = liquidText(args[at])
  if (pattern.length > LIMITS.pattern)
    throw badFilter(name, `searches for at most ${LIMITS.pattern} characters.`)
  return pattern
}

/** Units for a search of `pattern` in `text`, in addition to its characters. */
export const searching = (text: string, pattern: string): number => (text.length * pattern.length) / 256

/** An integer from 0 to `most`, as a number or digits. */
export const countArg = (
  args: readonly unknown[],
  at: number,
  name: string,
  fallback?: number,
  most = 1_000_000,
): number => {
  const argument = args[at] ?? fallback
  const count = typeof argument === 'string' && /^\d{1,9}$/.test(argument) ? Number(argument) : argument
  if (typeof count !== 'number' || !Number.isInteger(count) || count < 0 || count > most)
    throw badFilter(name, `needs an integer from 0 to ${most} as argument ${at + 1}.`)
  return count
}

export const stringArg = (args: readonly unknown[], at: number, name: string, fallback?: string): string => {
  const argument = args[at] ?? fallback
  if (typeof argument === 'string') return argument
  if (typeof argument === 'number') return String(argument)
  throw badFilter(name, `needs text in quotes as argument ${at + 1}.`)
}

/** Exactly one character. */
export const charArg = (args: readonly unknown[], at: number, name: string, fallback?: string): string => {
  const text = stringArg(args, at, name, fallback)
  if (text.length > 2 || [...text].length !== 1)
    throw badFilter(name, `needs a single character as argument ${at + 1}.`)
  return text
}

/** Characters of a text of bounded length; none when the argument is absent. */
export const setArg = (args: readonly unknown[], at: number, name: string): ReadonlySet<string> => {
  stringArg(args, at, name, '')
  return new Set(patternArg(args, at, name))
}

/** `true`, `false`, `'true'` or `'false'`. */
export const flagArg = (args: readonly unknown[], at: number, name: string): boolean => {
  const argument = args[at] ?? false
  if (typeof argument === 'boolean') return argument
  const text = typeof argument === 'string' ? argument.toLowerCase() : ''
  if (text === 'true' || text === 'false') return text === 'true'
  throw badFilter(name, `needs 'true' or 'false' as argument ${at + 1}.`)
}
