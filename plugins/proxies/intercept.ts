import { isConflict } from '#kit'
import { AppError, type Interception, invalid } from '#sdk'
import type { ProxyRecord } from './collections.ts'

const UNRESERVED = /[A-Za-z0-9._~-]/
const DEFAULT_PORT = 443

/** Servers disagree about such paths: empty and dot segments, encoded slashes, malformed percent-encoding. */
const AMBIGUOUS = /\/\/|\\|%2f|%5c|%(?![0-9a-f]{2})|(?:^|\/)\.\.?(?:;[^/]*)?(?:\/|$)/i

/** RFC 3986 §6.2.2: unreserved characters decoded, the others with upper-case digits. */
const normalized = (path: string): string =>
  path.replace(/%[0-9a-f]{2}/gi, (octet) => {
    const character = String.fromCharCode(Number.parseInt(octet.slice(1), 16))
    return UNRESERVED.test(character) ? character : octet.toUpperCase()
  })

/** What a proxy with this destination intercepts; `url` satisfies the egress rules. Throws `invalid`. */
export const parseInterception = (url: string): Interception => {
  const { protocol, hostname, port, pathname } = new URL(url)
  if (protocol !== 'https:') throw invalid({ intercept: ['needs an https:// destination'] })
  const path = normalized(pathname.replace(/\/+$/, ''))
  if (AMBIGUOUS.test(path))
    throw invalid({
      intercept: ['needs a destination without "//", dot segments and encoded slashes in its path'],
    })
  const host = hostname.replace(/^\[|\]$|\.$/g, '')
  return { host, port: port === '' ? DEFAULT_PORT : Number(port), path }
}

/** Members by which intercepting proxies are found, and of which a tenant has each once. */
export const bindingOf = (
  url: string,
): Required<Pick<ProxyRecord, 'intercept' | 'bound_host' | 'binding'>> => {
  const { host, port, path } = parseInterception(url)
  return { intercept: true, bound_host: host, binding: `${host} ${port} ${path}` }
}

/** Throws the error for a second proxy with a binding in the place of `conflict`. */
export const rethrowBound = (thrown: unknown): never => {
  if (!isConflict(thrown)) throw thrown
  throw new AppError(
    'conflict',
    'Another proxy of the tenant intercepts this host, port and path. Change its destination_url, or its intercept to false.',
    { cause: thrown },
  )
}
