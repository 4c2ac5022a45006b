import { isConflict, segmentsOf } from '#kit'
import { AppError, type Interception, invalid } from '#sdk'
import type { ProxyRecord } from './collections.ts'

const DEFAULT_PORT = 443

/** Requests that a proxy with this destination intercepts; `url` satisfies the egress rules. Throws `invalid`. */
export const parseInterception = (url: string): Interception => {
  const { protocol, hostname, port, pathname } = new URL(url)
  if (protocol !== 'https:') throw invalid({ intercept: ['needs an https:// destination'] })
  const trimmed = pathname.replace(/\/+$/, '')
  const segments = trimmed === '' ? [] : segmentsOf(trimmed)
  if (segments === undefined)
    throw invalid({
      intercept: ['needs a destination without "//", dot segments and encoded slashes in its path'],
    })
  const host = hostname.replace(/^\[|\]$|\.$/g, '')
  const path = segments.map((segment) => `/${segment}`).join('')
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
