import { AppError } from '../common/errors.ts'

/** One request on its way through redirects. */
export interface Hop {
  readonly url: URL
  readonly method: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string | Uint8Array | undefined
}

const STATUSES = [301, 302, 303, 307, 308]

/** All else may hold a credential, and stays with the origin that it was meant for. */
const ANY_ORIGIN = /^(accept(-.*)?|content-.*|user-agent)$/i

export const isRedirect = (status: number): boolean => STATUSES.includes(status)

/**
 * The request that follows a redirect (fetch standard, "HTTP-redirect fetch"), stricter to another origin: headers are
 * left out but those that describe the content, and a body goes there only for `bodyToAnyOrigin`. Throws
 * `destination_not_allowed` for that, and for a redirect from https to http.
 */
export const redirected = (hop: Hop, status: number, url: URL, bodyToAnyOrigin: boolean): Hop => {
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
      url,
      method: 'GET',
      headers: headers.filter(([name]) => !/^content-/i.test(name)),
      body: undefined,
    }
  if (isOther && hop.body !== undefined && !bodyToAnyOrigin)
    throw new AppError(
      'destination_not_allowed',
      'The destination redirects a request with a body to another origin. Call that one, or set redirect to "follow-with-body".',
    )
  return { ...hop, url, headers }
}
