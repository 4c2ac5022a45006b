/** `util.format`, as `console.log` uses it. */
import { inspect } from './inspect.ts'

const integer = (value: unknown): string => {
  if (typeof value === 'bigint') return `${value}n`
  return typeof value === 'symbol' ? 'NaN' : inspect(Number.parseInt(String(value), 10))
}

const number = (value: unknown): string => {
  if (typeof value === 'bigint') return `${value}n`
  return typeof value === 'symbol' ? 'NaN' : inspect(Number(value))
}

const string = (value: unknown): string => {
  if (typeof value === 'string') return value
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? '-0' : String(value)
  const own = !('toString' in value) || value.toString === Object.prototype.toString || Array.isArray(value)
  return own || value instanceof Error ? inspect(value, { depth: 0 }) : String(value)
}

const json = (value: unknown): string => {
  try {
    return String(JSON.stringify(value))
  } catch (error) {
    if (error instanceof TypeError && error.message.includes('circular')) return '[Circular]'
    throw error
  }
}

const PLACES: Readonly<Record<string, (value: unknown) => string>> = {
  s: string,
  d: number,
  i: integer,
  f: (value) => (typeof value === 'symbol' ? 'NaN' : inspect(Number.parseFloat(String(value)))),
  j: json,
  o: (value) => inspect(value, { depth: 4, showHidden: true }),
  O: (value) => inspect(value),
  c: () => '',
}

const shown = (value: unknown): string => (typeof value === 'string' ? value : inspect(value))

export const format = (...values: readonly unknown[]): string => {
  const [first, ...rest] = values
  if (typeof first !== 'string' || rest.length === 0) return values.map(shown).join(' ')
  let next = 0
  const head = first.replace(/%([sdifjoOc%])/g, (place, letter: string) => {
    if (letter === '%') return '%'
    return next < rest.length ? PLACES[letter]!(rest[next++]) : place
  })
  return [head, ...rest.slice(next).map(shown)].join(' ')
}
