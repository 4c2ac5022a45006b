import { badFilter } from '../faults.ts'

/** A filter of ours: `value` is never null (null in, null out is handled outside). `name` is for its errors. */
export type InnerFilter = (value: unknown, args: readonly unknown[], name: string) => unknown

/** The text of a string, number or boolean; anything else is refused. */
export const textOf = (value: unknown, name: string): string => {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw badFilter(name, 'needs text or a number; select a member of the object first, e.g. with "json".')
}

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
  if ([...text].length !== 1) throw badFilter(name, `needs a single character as argument ${at + 1}.`)
  return text
}

/** `true`, `false`, `'true'` or `'false'`. */
export const flagArg = (args: readonly unknown[], at: number, name: string): boolean => {
  const given = args[at] ?? false
  if (typeof given === 'boolean') return given
  const text = typeof given === 'string' ? given.toLowerCase() : ''
  if (text === 'true' || text === 'false') return text === 'true'
  throw badFilter(name, `needs 'true' or 'false' as argument ${at + 1}.`)
}
