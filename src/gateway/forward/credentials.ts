import { AppError } from '../../common/errors.ts'
import { type Head, single } from '../headers.ts'

/** The longest key, and the characters of one: it travels as text of Envoy's. */
const KEY = /^[!-~]{1,200}$/
const SCHEME = /^(basic|bearer) +(\S+)$/i

const required = () =>
  new AppError(
    'proxy_authentication_required',
    'The forward proxy takes the API key of a private application. Send it as the password of the proxy URL.',
  )

const passwordOf = (credentials: string): string => {
  const text = Buffer.from(credentials, 'base64').toString('latin1')
  const colon = text.indexOf(':')
  if (colon < 0) throw required()
  return text.slice(colon + 1)
}

/**
 * The API key in `proxy-authorization`: the password of Basic with any user name, or a Bearer token. Throws
 * `proxy_authentication_required` without one, `malformed` for several lines.
 */
export const proxyCredentials = (head: Head): string => {
  const [, scheme, credentials] = SCHEME.exec(single(head, 'proxy-authorization') ?? '') ?? []
  if (scheme === undefined || credentials === undefined) throw required()
  const key = scheme.toLowerCase() === 'basic' ? passwordOf(credentials) : credentials
  if (!KEY.test(key)) throw required()
  return key
}

/** The error of an unknown key on CONNECT: clients know 407 only. */
export const asProxyAuthentication = (thrown: unknown): unknown =>
  thrown instanceof AppError && thrown.code === 'unauthenticated' ? required() : thrown
