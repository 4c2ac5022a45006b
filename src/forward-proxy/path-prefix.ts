/** Path prefixes of intercepting proxies, compared by segments (completions §15). */
const UNRESERVED = /[A-Za-z0-9._~-]/

/** Servers disagree about such paths: empty and dot segments, encoded slashes, malformed percent-encoding. */
const AMBIGUOUS = /\/\/|\\|%2f|%5c|%(?![0-9a-f]{2})|(?:^|\/)\.\.?(?:;[^/]*)?(?:\/|$)/i

/** Segments that may become others: expressions, and what some servers decode twice. */
const OPAQUE = /\{\{|%7b%7b|%25/i

/** RFC 3986 §6.2.2: unreserved characters decoded, the others with upper-case digits. */
const normalized = (path: string): string =>
  path.includes('%')
    ? path.replace(/%[0-9a-f]{2}/gi, (octet) => {
        const character = String.fromCharCode(Number.parseInt(octet.slice(1), 16))
        return UNRESERVED.test(character) ? character : octet.toUpperCase()
      })
    : path

const segmentsOf = (path: string): readonly string[] => path.split('/').slice(1)

/**
 * Whether a path lies below a normalized prefix ('' for all paths). `maybe`: servers may read the path as one below it,
 * or an expression may become one of the prefix's segments. `path` is without its query; what stands behind the prefix
 * does not matter here.
 */
export const liesBelow = (prefix: string, path: string): 'yes' | 'no' | 'maybe' => {
  const text = normalized(path)
  const segments = segmentsOf(text)
  for (const [at, expected] of segmentsOf(prefix).entries()) {
    const segment = segments[at] ?? ''
    if (segment === expected) continue
    const mayBecome = OPAQUE.test(segment) || segment.split(';', 1)[0] === expected
    return mayBecome || AMBIGUOUS.test(text) ? 'maybe' : 'no'
  }
  return 'yes'
}

/** The path behind the first segments, as many as the prefix has: '' or with a leading slash. */
export const behindPrefix = (prefix: string, path: string): string => {
  const rest = path.split('/').slice(1 + segmentsOf(prefix).length)
  return rest.length === 0 ? '' : `/${rest.join('/')}`
}
