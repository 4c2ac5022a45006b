import { AppError } from '../common/errors.ts'
import type { OutboundDestination } from '../sdk/index.ts'

/** Request of a chain of redirects. */
export interface Hop {
  readonly url: URL
  /** Host and port of `url` as they are dialed. */
  readonly dialed: Pick<OutboundDestination, 'host' | 'port'>
  readonly method: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string | Uint8Array | undefined
}

const STATUSES = [301, 302, 303, 307, 308]

/** Headers that may be sent to another origin. All others may contain credentials. */
const ANY_ORIGIN = /^(accept(-.*)?|content-.*|user-agent)$/i

export const isRedirect = (status: number): boolean => STATUSES.includes(status)

/**
 * The request after a redirect (fetch standard, "HTTP-redirect fetch"), stricter for another origin: it gets only
 * headers that describe the content, and a body only with `bodyToAnyOrigin`. Throws `destination_not_allowed`
 * otherwise, and for redirects from https to http.
 */
export const redirected = (
  hop: Hop,
  status: number,
  to: Pick<Hop, 'url' | 'dialed'>,
  bodyToAnyOrigin: boolean,
): Hop => {
  const { url } = to
  if (hop.url.protocol === 'https:' && url.protocol !== 'https:')
    throw new AppError(
      'destination_not_allowed',
      'The destination redirects from https:// to http://. Such redirects are not followed.',
    )
  const isOther = url.origin !== hop.url.origin
  const headers = isOther ? hop.headers.filter(([name]) => ANY_ORIGIN.test(name)) : hop.headers
  const toGet = status === 303 ? hop.method !== 'HEAD' : status < 303 && hop.method === 'POST'
  if (toGet)
    return {
      ...to,
      method: 'GET',
      headers: headers.filter(([name]) => !/^content-/i.test(name)),
      body: undefined,
    }
  if (isOther && hop.body !== undefined && !bodyToAnyOrigin)
    throw new AppError(
      'destination_not_allowed',
      'The destination redirects a request with a body to another origin. Call that origin, or set redirect to "follow-with-body".',
    )
  return { ...hop, ...to, headers }
}
