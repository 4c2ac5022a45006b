/** Headers as transforms see and return them (interface, "Proxy transforms"; ../README.md, "Transforms"). */
import { FRAMING, HOP_BY_HOP } from '../../common/http-headers.ts'
import { isObject } from '../../common/json.ts'
import { type Edits, type Head, type HeaderRules, trimmedLine } from '../headers.ts'

/** Headers by lower-case name; a list where lines cannot be joined (RFC 6265 §3). */
type CodeHeaders = Readonly<Record<string, string | readonly string[]>>

/** RFC 9110 §5.6.2. */
const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
/** Bytes one to one as characters, as Node has them too. */
const VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/

const MAX_LINES = 100
const MAX_CHARACTERS = 32_768

/**
 * What frames the message, or says how its body is coded, is ours to say. Envoy needs an `x-forwarded-proto`, and the
 * destination gets the caller's (control-plane/early-header-mutation.ts).
 */
const OWN = new Set([...FRAMING, 'content-encoding', 'x-forwarded-proto'])

/** Headers that code neither sees nor sets: they keep what they have. */
export const isHidden = (name: string, { own, names }: HeaderRules): boolean =>
  name.startsWith(':') ||
  OWN.has(name) ||
  HOP_BY_HOP.has(name) ||
  name.startsWith('x-envoy-') ||
  name.startsWith('x-sidevault-') ||
  own.has(name) ||
  [...names.values()].some(({ traceId, destinationStatus, outcome }) =>
    [traceId, destinationStatus, outcome].some((own) => own === name),
  )

/** `args.headers`. */
export const showHeaders = (head: Head, hidden: (name: string) => boolean): CodeHeaders => {
  const shown: Record<string, string | readonly string[]> = Object.create(null)
  for (const [name, lines] of head)
    if (!hidden(name))
      shown[name] = name === 'set-cookie' ? lines : lines.join(name === 'cookie' ? '; ' : ', ')
  return shown
}

/** The lines of one returned header; none for null, undefined when it is no header. */
const linesOf = (value: unknown): readonly string[] | undefined => {
  if (value === null) return []
  const lines: string[] = []
  for (const item of Array.isArray(value) ? value : [value]) {
    if (typeof item === 'object') return undefined
    const line = trimmedLine(String(item))
    if (!VALUE.test(line)) return undefined
    lines.push(line)
  }
  return lines
}

/**
 * Returned headers by lower-case name, without those that code does not set; of names that differ in case only the last
 * one counts. Undefined when they are no headers, or too many.
 */
export const readHeaders = (
  returned: unknown,
  hidden: (name: string) => boolean,
): ReadonlyMap<string, readonly string[]> | undefined => {
  if (!isObject(returned)) return undefined
  const headers = new Map<string, readonly string[]>()
  let characters = 0
  let count = 0
  for (const [returnedName, value] of Object.entries(returned)) {
    const name = returnedName.toLowerCase()
    if (hidden(name)) continue
    const lines = linesOf(value)
    if (lines === undefined || !NAME.test(name)) return undefined
    if (lines.length > 0) headers.set(name, lines)
    else headers.delete(name)
    for (const line of lines) characters += name.length + line.length
    count += lines.length
    if (count > MAX_LINES || characters > MAX_CHARACTERS) return undefined
  }
  return headers
}

/** The edits from the given headers to the returned ones; unchanged headers retain their lines and bytes. */
export const changesOf = (shown: CodeHeaders, returned: ReadonlyMap<string, readonly string[]>): Edits => {
  const set = new Map<string, string | readonly string[]>()
  for (const [name, lines] of returned) {
    const before = shown[name]
    const same =
      before !== undefined &&
      lines.length === (typeof before === 'string' ? 1 : before.length) &&
      lines.every((line, index) => line === (typeof before === 'string' ? before : before[index]))
    if (!same) set.set(name, lines)
  }
  return { set, remove: Object.keys(shown).filter((name) => !returned.has(name)) }
}
