/** Path patterns of lists of destinations (completions §14): `*` is a segment, `**` at the end the rest. */
import { hasDotSegment } from './parse-url.ts'

/** Characters of a stored pattern: what is encoded grows. */
const MAX_PATTERN_LENGTH = 400
const REST = '**'
const ANY = '*'

/** A percent-encoded octet; alone: a malformed one. */
const ENCODED = /%([0-9a-f]{2})?/gi
const UNRESERVED = /[A-Za-z0-9._~-]/
/** Slashes and backslashes that some servers decode, and others do not. */
const AMBIGUOUS = /\/\/|\\|%2f|%5c/i

/** RFC 3986 §6.2.2: unreserved characters decoded, the others with upper-case digits. Undefined: malformed. */
const normalized = (path: string): string | undefined => {
  let valid = true
  const text = path.replace(ENCODED, (octet, hex: string | undefined) => {
    if (hex === undefined) valid = false
    const character = String.fromCharCode(Number.parseInt(hex ?? '0', 16))
    return UNRESERVED.test(character) ? character : octet.toUpperCase()
  })
  return valid ? text : undefined
}

/** The segments of a path; undefined for one that lies in no pattern. */
export const segmentsOf = (path: string): readonly string[] | undefined => {
  if (!path.startsWith('/') || AMBIGUOUS.test(path) || hasDotSegment(path)) return undefined
  return normalized(path)?.slice(1).split('/')
}

/** The stored form of a pattern; undefined when it is malformed. */
export const parsePathPattern = (text: string): string | undefined => {
  if (/[\s\p{Cc}?#{}]/u.test(text) || !text.isWellFormed()) return undefined
  const segments = segmentsOf(encodeURI(text).replaceAll('%25', '%'))
  if (segments === undefined) return undefined
  const wrong = (segment: string, at: number) =>
    segment.includes(ANY) && segment !== ANY && (segment !== REST || at < segments.length - 1)
  const pattern = `/${segments.join('/')}`
  return segments.some(wrong) || pattern.length > MAX_PATTERN_LENGTH ? undefined : pattern
}

/** An expression stands in the segment: its text is unknown until it is decrypted. */
const isOpaque = (segment: string): boolean => /(?:\{|%7b){2}/i.test(segment)

const holdsSegment = (pattern: string, segment: string | undefined): boolean => {
  if (segment === undefined || segment === REST) return false
  return pattern === ANY ? segment !== '' : pattern === segment && !isOpaque(segment)
}

/** Whether a stored pattern holds a path, or all paths of another pattern, by its segments. */
export const holdsPath = (pattern: string, segments: readonly string[]): boolean => {
  const parts = pattern.slice(1).split('/')
  const hasRest = parts.at(-1) === REST
  const fixed = hasRest ? parts.slice(0, -1) : parts
  if (hasRest ? segments.length < fixed.length : segments.length !== fixed.length) return false
  return fixed.every((part, at) => holdsSegment(part, segments[at]))
}
