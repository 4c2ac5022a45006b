/** Path prefixes of intercepting proxies, compared by segments (completions §15). */
import { segmentsOf } from '../egress/path-pattern.ts'

/** Segments that may become others: expressions, and what some servers decode twice. */
const OPAQUE = /(?:\{|%7b){2}|%25/i
/** Where some servers end a segment: parameters, which they may have decoded, NUL, and blanks. */
const TAIL = /;|%3b|%00|%20|%0[9ad]/i

const split = (path: string): readonly string[] => path.split('/').slice(1)

/**
 * Whether a path lies below a normalized prefix ('' for all paths). `maybe`: servers may read the path as one below it,
 * or an expression may become one of the prefix's segments. `path` is without its query; what stands behind the prefix
 * does not matter here.
 */
export const liesBelow = (prefix: string, path: string): 'yes' | 'no' | 'maybe' => {
  if (prefix === '') return 'yes'
  const normalized = segmentsOf(path)
  const segments = normalized ?? split(path)
  for (const [at, expected] of split(prefix).entries()) {
    const segment = segments[at] ?? ''
    if (segment === expected) continue
    const mayBecome = OPAQUE.test(segment) || segment.split(TAIL, 1)[0] === expected
    return mayBecome || normalized === undefined ? 'maybe' : 'no'
  }
  return 'yes'
}

/** The path behind the first segments, as many as the prefix has: '' or with a leading slash. */
export const behindPrefix = (prefix: string, path: string): string => {
  const rest = path.split('/').slice(1 + split(prefix).length)
  return rest.length === 0 ? '' : `/${rest.join('/')}`
}
