/**
 * Request headers: prefixes, trace ids, and headers that are removed before a request is forwarded (completions §1,
 * §7).
 */

import { CONSOLE_HEADER, holdsConsoleCookie } from '../common/console.ts'
import { AppError } from '../common/errors.ts'
import { HOP_BY_HOP } from '../common/http-headers.ts'
import { isObject } from '../common/json.ts'
import { parseJson } from '../common/parse-json.ts'
import { CLIENT_ADDRESS_HEADER } from '../common/rate-limiter.ts'
import type { TraceContext } from '../common/trace-context.ts'
import { traceIdFor } from '../common/trace-id.ts'
import { CONNECTION_COPY, COPIES } from '../control-plane/early-header-mutation.ts'
import { HEADER_KIB, HEADER_LINES, prefixHeaders } from '../ext-proc/contract.ts'

/** Headers by lower-case name, pseudo-headers included; several lines of one name keep their order. */
export type Head = ReadonlyMap<string, readonly string[]>

export interface Edits {
  /** A list: one line each, in the place of all that there were. */
  readonly set: ReadonlyMap<string, string | readonly string[]>
  readonly remove: readonly string[]
}

/** Both; where they differ the second applies. */
export const merged = (first: Edits, second: Edits): Edits => ({
  set: new Map([...first.set, ...second.set]),
  remove: [...first.remove, ...second.remove],
})

export interface HeaderRules {
  /** Lower case, canonical first. */
  readonly prefixes: readonly [string, ...string[]]
  /** Header names of each prefix. */
  readonly names: ReadonlyMap<string, PrefixedNames>
  /** Header names of each prefix, canonical prefix first. */
  readonly ofPrefixes: readonly PrefixedNames[]
  /** Names of all prefixes that are for this service only, and are never forwarded. */
  readonly own: ReadonlySet<string>
  /** Query parameters that hold a proxy key. */
  readonly keyParameters: readonly string[]
}

type PrefixedNames = ReturnType<typeof prefixHeaders>

/** Headers that identify the prefix of a caller, in this order. */
const TELLING = ['apiKey', 'proxyKey', 'proxyUrl', 'traceId'] as const

const FORWARDED_NAME = /^[a-z0-9_-]+$/

/** Headers that `connection` may not remove: the request would lose its caller or its framing. */
const RETAINED = new Set(['host', 'content-length', 'content-type', 'content-encoding'])

/** Throws an Error when there is no prefix. */
export const headerRules = (prefixes: readonly string[]): HeaderRules => {
  const [canonical, ...others] = [...new Set(prefixes.map((prefix) => prefix.toLowerCase()))]
  if (canonical === undefined) throw new Error('at least one header prefix is needed')
  const all = [canonical, ...others] as const
  const names = new Map(all.map((prefix) => [prefix, prefixHeaders(prefix)]))
  const ofPrefixes = [...names.values()]
  const own = ofPrefixes.flatMap(
    ({
      apiKey,
      proxyKey,
      proxyUrl,
      evaluate,
      dryRun,
      dryRunResponse,
      dryRunCode,
      stream,
      guard,
      idempotencyKey,
    }) => [
      apiKey,
      proxyKey,
      proxyUrl,
      evaluate,
      dryRun,
      dryRunResponse,
      dryRunCode,
      stream,
      guard,
      idempotencyKey,
    ],
  )
  return {
    prefixes: all,
    names,
    ofPrefixes,
    own: new Set(own),
    keyParameters: ofPrefixes.map(({ proxyKey }) => proxyKey),
  }
}

const COLON = 0x3a

/** Headers of a request from Envoy that its caller may not have sent. */
const ENVOYS = new Set([...COPIES, CLIENT_ADDRESS_HEADER, 'x-forwarded-proto'])

/**
 * Whether a value may hold an expression. Throws `headers_too_large` for more than a caller may send: the forwarded
 * headers must fit into Envoy's limits.
 */
export const checkHead = (head: Head): boolean => {
  let lines = 0
  let bytes = 0
  let hasBraces = false
  head.forEach((values, name) => {
    if (name.charCodeAt(0) !== COLON && !ENVOYS.has(name)) lines += values.length
    for (const value of values) {
      bytes += name.length + value.length
      hasBraces ||= value.includes('{{')
    }
  })
  if (lines > HEADER_LINES || bytes > HEADER_KIB * 1024)
    throw new AppError(
      'headers_too_large',
      `The request has more than ${HEADER_LINES} lines or ${HEADER_KIB} KiB of headers. Send fewer.`,
    )
  return hasBraces
}

/** The one value of a header; undefined when absent or empty. Throws `malformed` when there are several. */
export const single = (head: Head, name: string): string | undefined => {
  const values = head.get(name)
  if (values === undefined) return undefined
  if (values.length > 1) throw new AppError('malformed', `The header "${name}" was sent more than once.`)
  return values[0] === '' ? undefined : values[0]
}

/** Characters of a method: more than any registered one has, since methods are stored with the newest calls. */
const MAX_METHOD_LENGTH = 32

/** The method, cut to what is stored. */
export const storedMethod = (head: Head): string =>
  head.get(':method')?.[0]?.slice(0, MAX_METHOD_LENGTH) ?? ''

/** Throws `malformed` for a method that is too long. */
export const methodOf = (head: Head): string => {
  const method = single(head, ':method') ?? ''
  if (method.length > MAX_METHOD_LENGTH)
    throw new AppError(
      'malformed',
      `The method is longer than ${MAX_METHOD_LENGTH} characters. Use a shorter one.`,
    )
  return method
}

/** The value of one kind of header under the first prefix that has it. */
export const prefixed = (
  head: Head,
  { ofPrefixes }: HeaderRules,
  kind: 'apiKey' | 'proxyUrl' | 'evaluate' | 'dryRunResponse' | 'dryRunCode' | 'guard',
): string | undefined => {
  for (const names of ofPrefixes) {
    const value = single(head, names[kind])
    if (value !== undefined) return value
  }
  return undefined
}

/** The JSON object in the value of a header, which is UTF-8. Throws `issue` for anything else. */
export const jsonHeader = (value: string, issue: AppError): Readonly<Record<string, unknown>> => {
  try {
    const parsed = parseJson(Buffer.from(value, 'latin1').toString())
    if (isObject(parsed)) return parsed
  } catch {}
  throw issue
}

/**
 * Whether the request is a dry run, or streams its body. Throws `malformed` for a value other than "true" and "false".
 */
export const isFlagSet = (head: Head, { ofPrefixes }: HeaderRules, kind: 'dryRun' | 'stream'): boolean => {
  for (const names of ofPrefixes) {
    const value = single(head, names[kind])?.toLowerCase()
    if (value === undefined || value === 'false') continue
    if (value === 'true') return true
    throw new AppError('malformed', `The header "${names[kind]}" is neither "true" nor "false".`)
  }
  return false
}

/** The prefix whose headers, or proxy key in the query, the request carries; the canonical one when it carries none. */
export const prefixOf = (head: Head, { prefixes, ofPrefixes }: HeaderRules): string => {
  for (const kind of TELLING)
    for (let at = 0; at < prefixes.length; at++)
      if (head.has((ofPrefixes[at] as PrefixedNames)[kind])) return prefixes[at] as string
  const path = head.get(':path')?.[0] ?? ''
  const mark = path.indexOf('?')
  if (mark < 0) return prefixes[0]
  const query = `&${path.slice(mark + 1).toLowerCase()}`
  return prefixes.find((prefix) => query.includes(`&${prefixHeaders(prefix).proxyKey}=`)) ?? prefixes[0]
}

/** The header of a prefix that has the trace id. */
export const traceHeaderOf = ({ names }: HeaderRules, prefix: string): string =>
  (names.get(prefix) ?? prefixHeaders(prefix)).traceId

/**
 * The caller's trace id, from the header of its prefix, when it can be echoed, else from its `traceparent`; else a new
 * one.
 */
export const traceIdOf = (head: Head, header: string, parent?: TraceContext): string => {
  const values = head.get(header)
  return traceIdFor(values?.length === 1 ? values[0] : undefined, parent)
}

const NONE: ReadonlySet<string> = new Set()

/** Names that the caller's `connection` header makes hop-by-hop. */
const nominated = (head: Head): ReadonlySet<string> => {
  const values = head.get(CONNECTION_COPY)
  if (values === undefined) return NONE
  return new Set(
    values
      .flatMap((value) => value.split(','))
      .map((name) => name.trim().toLowerCase())
      .filter((name) => name !== '' && !name.startsWith(':') && !RETAINED.has(name)),
  )
}

/** Headers of a browser about the console's page, which are nothing to a destination. */
const isOfPage = (name: string): boolean =>
  name === 'cookie' ||
  name === 'origin' ||
  name === 'referer' ||
  name === CONSOLE_HEADER ||
  name.startsWith('sec-')

/**
 * Names that must not reach the destination. Browsers send the console's cookie to `/proxy` of its host too: then
 * cookies do not. Inside a tunnel, cookies are the destination's.
 */
export const strippedNames = (
  head: Head,
  { own }: HeaderRules,
  { isConsole = false, tunnel }: { readonly isConsole?: boolean; readonly tunnel?: unknown } = {},
): string[] => {
  const dropped = nominated(head)
  const stripped: string[] = []
  head.forEach((_, name) => {
    if (
      name.charCodeAt(0) !== COLON &&
      (own.has(name) ||
        name === CONNECTION_COPY ||
        name === CLIENT_ADDRESS_HEADER ||
        HOP_BY_HOP.has(name) ||
        dropped.has(name) ||
        (isConsole && isOfPage(name)) ||
        !FORWARDED_NAME.test(name))
    )
      stripped.push(name)
  })
  const isBrowser = !isConsole && tunnel === undefined
  if (isBrowser && head.get('cookie')?.some(holdsConsoleCookie)) stripped.push('cookie')
  return stripped
}

const BLANKS: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d])

/**
 * A header line without blanks around it, in linear time. ASCII only: these are bytes, and U+00A0 may be half of a
 * character.
 */
export const trimmedLine = (line: string): string => {
  let start = 0
  let end = line.length
  while (start < end && BLANKS.has(line.charCodeAt(start))) start++
  while (end > start && BLANKS.has(line.charCodeAt(end - 1))) end--
  return line.slice(start, end)
}
