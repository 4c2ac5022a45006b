/** Destinations of proxied requests: the URL rules and path joining of completions §7. */
import { LRUCache } from 'lru-cache'
import { AppError } from '../common/errors.ts'
import type { Upstream } from '../ext-proc/contract.ts'
import { type AddressPolicy, checkHost } from './address.ts'

export const URL_LENGTH = 400
const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'https:': 443, 'http:': 80 }

export interface DestinationPolicy extends AddressPolicy {
  /** Allowed ports. The default port of an allowed scheme is always included. */
  readonly ports: '*' | readonly number[]
  readonly http: boolean
  /** Host of the demo destination, if it runs. */
  readonly demoHost?: string
}

export interface Destination {
  readonly upstream: Upstream
  /** `host` or, off the scheme's default port, `host:port`. */
  readonly authority: string
  readonly host: string
  readonly port: number
  /** Without trailing slashes; '' for the root. */
  readonly basePath: string
  /** Without `?`; '' when there is none. */
  readonly baseQuery: string
}

/** The part of a request's path after `/proxy`. */
export interface Suffix {
  readonly path: string
  /** Without `?` and proxy keys. Undefined if there was none. */
  readonly query: string | undefined
  /** Values of the proxy-key parameters, decoded. */
  readonly proxyKeys: readonly string[]
}

const bad = (detail: string) => new AppError('invalid_destination', detail)
const forbidden = (detail: string) => new AppError('destination_not_allowed', detail)

/** True for characters that URL parsers drop, split at, or interpret differently. */
const isUnsafe = (text: string): boolean => {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code <= 0x20 || code === 0x7f || code === 0x5c || code === 0x23) return true
  }
  return false
}

/**
 * Parses and checks a base URL. Throws `invalid_destination` if it is not valid, `destination_not_allowed` if the
 * egress rules deny it.
 */
export const parseDestination = (text: string, policy: DestinationPolicy): Destination => {
  if (text.length > URL_LENGTH) throw bad(`The destination URL is longer than ${URL_LENGTH} characters.`)
  const parts = /^(https?):\/\/([^/?]+)/i.exec(text)
  if (!parts || isUnsafe(text) || !URL.canParse(text))
    throw bad('The destination is not an absolute https:// URL without blanks, backslashes or a fragment.')
  const authority = parts[2] as string
  if (authority.includes('@'))
    throw bad('The destination URL contains user information. Send it in a header.')
  if (authority.includes('%')) throw bad("The destination's host is not a DNS name. Check the URL.")
  const url = new URL(text)
  if (url.protocol === 'http:' && !policy.http)
    throw forbidden('The destination is not an https:// URL. This gateway calls only https:// URLs.')
  const standard = DEFAULT_PORTS[url.protocol] as number
  const port = url.port === '' ? standard : Number(url.port)
  if (port === 0) throw bad('The destination has no valid port.')
  const host = checkHost(url.hostname, policy)
  if (policy.demoHost !== undefined && host === policy.demoHost && url.protocol === 'https:' && port === 443)
    return { ...split(url), upstream: 'demo', host, port, authority: host }
  if (port !== standard && policy.ports !== '*' && !policy.ports.includes(port))
    throw forbidden('The port of the destination is not allowed. Ask the operator to allow it.')
  return {
    ...split(url),
    upstream: url.protocol === 'https:' ? 'https' : 'http',
    host,
    port,
    authority: port === standard ? host : `${host}:${port}`,
  }
}

const split = (url: URL) => ({
  basePath: url.pathname.replace(/\/+$/, ''),
  baseQuery: url.search.replace(/^\?/, ''),
})

const decodeOnce = (text: string): string =>
  !text.includes('%')
    ? text
    : text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

/** True if a server may read the segment as `.` or `..`, also with path parameters, blanks or control characters. */
const isDotSegment = (segment: string) => /^[\s\p{Cc}]*\.\.?[\s\p{Cc}]*(?:;.*)?$/su.test(segment)

/** Whether a server may read a part of the path as a dot segment, in any encoding. */
export const hasDotSegment = (path: string): boolean => {
  let text = path
  for (let round = 0; round < 3; round++) {
    if (text.split(/[/\\]/).some(isDotSegment)) return true
    const decoded = decodeOnce(text)
    if (decoded === text) return false
    text = decoded
  }
  return false
}

const parameter = (pair: string): readonly [string, string] => {
  const equals = pair.indexOf('=')
  const [name, value] = equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)]
  const decode = (text: string) => decodeOnce(text.replaceAll('+', ' '))
  return [decode(name).toLowerCase(), decode(value)]
}

/**
 * Parses a request's path (`/proxy/a/b?c=d`) from `start` on. `keyNames`: proxy-key parameters, lower case. Throws
 * `invalid_destination` if the suffix could leave the base path: dot segments in any encoding, backslashes.
 */
export const parseSuffix = (
  requestPath: string,
  keyNames: readonly string[],
  start = '/proxy'.length,
): Suffix => {
  const mark = requestPath.indexOf('?')
  const path = (mark < 0 ? requestPath : requestPath.slice(0, mark)).slice(start)
  if (path.includes('\\') || hasDotSegment(path))
    throw bad('The path contains dot segments or backslashes. Send the normalized path.')
  const suffix = path === '/' ? '' : path
  if (mark < 0) return { path: suffix, query: undefined, proxyKeys: [] }
  const retained: string[] = []
  const proxyKeys: string[] = []
  for (const pair of requestPath.slice(mark + 1).split('&')) {
    const [name, value] = parameter(pair)
    if (keyNames.includes(name)) proxyKeys.push(value)
    else retained.push(pair)
  }
  const query = retained.length === 0 && proxyKeys.length > 0 ? undefined : retained.join('&')
  return { path: suffix, query, proxyKeys }
}

/** The `:path` for the destination. */
export const joinPath = (destination: Destination, suffix: Suffix): string => {
  const path = `${destination.basePath}${suffix.path}` || '/'
  const queries = [destination.baseQuery, suffix.query ?? ''].filter((query) => query !== '')
  if (queries.length > 0) return `${path}?${queries.join('&')}`
  return suffix.query === undefined ? path : `${path}?`
}

interface OwnAddress {
  readonly host: string
  readonly port: number
}

/** Host and port at which a caller reached this gateway. Undefined if the authority is not valid. */
const parseOwn = (authority: string, scheme: string): OwnAddress | undefined => {
  const text = `${scheme === 'https' ? 'https' : 'http'}://${authority}`
  if (!URL.canParse(text)) return undefined
  const own = new URL(text)
  const port = own.port === '' ? (DEFAULT_PORTS[own.protocol] as number) : Number(own.port)
  return { host: own.hostname.replace(/\.$/, ''), port }
}

export interface Destinations {
  /** `parseDestination`. */
  parse(url: string): Destination
  /** True if the destination is the address at which the caller reached this gateway. */
  isOwn(destination: Destination, authority: string, scheme: string): boolean
}

const MAX_CACHED = 1000

/** Caches parsed destinations under one policy: callers use few destinations, often. */
export const createDestinations = (policy: DestinationPolicy): Destinations => {
  const parsed = new LRUCache<string, Destination>({ max: MAX_CACHED })
  const owned = new LRUCache<string, { readonly address: OwnAddress | undefined }>({ max: MAX_CACHED })
  return {
    parse(url) {
      let destination = parsed.get(url)
      if (destination === undefined) {
        destination = parseDestination(url, policy)
        parsed.set(url, destination)
      }
      return destination
    },
    isOwn({ host, port }, authority, scheme) {
      const key = `${scheme} ${authority}`
      let own = owned.get(key)
      if (own === undefined) {
        own = { address: parseOwn(authority, scheme) }
        if (key.length <= URL_LENGTH) owned.set(key, own)
      }
      return own.address?.host === host && own.address.port === port
    },
  }
}
