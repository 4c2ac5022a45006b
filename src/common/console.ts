/**
 * Calls that the pages of the console make: their cookie, the proof of their origin, and the headers of their responses
 * (completions §16).
 */
import { AppError } from './errors.ts'

/** The API, and `/proxy`, as the console calls them. */
export const CONSOLE_API = '/console/api'

/**
 * Sent by every call of the console; `background`: of no person, so that it does not move the end of an idle session.
 */
export const CONSOLE_HEADER = 'x-sidevault-console'

/** In the name of each cookie of a console session, and of no other cookie. */
const COOKIE = 'sidevault-console'

/** A header of a request; lines of one name are joined. */
export type HeaderOf = (name: string) => string | undefined

/** The host of the request as its client called it, for pages of this machine. */
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i

/**
 * The cookie for the host that a browser called. Plain HTTP on loopback: for paths of the console only. Elsewhere
 * with `__Host-`, which no other host can set and needs TLS, also where a proxy in front terminates it. Browsers send a
 * cookie to all ports of a host, so its name has the port.
 */
export const consoleCookie = (
  header: HeaderOf,
  host = header('host') ?? '',
): { readonly name: string; readonly attributes: string } => {
  const [, port] = /:(\d{1,5})$/.exec(host) ?? []
  const own = port === undefined ? COOKIE : `${COOKIE}-${port}`
  return LOOPBACK.test(host) && header('x-forwarded-proto') !== 'https'
    ? { name: own, attributes: 'Path=/console/; HttpOnly; SameSite=Strict' }
    : { name: `__Host-${own}`, attributes: 'Path=/; HttpOnly; SameSite=Strict; Secure' }
}

/** True for a header line that may hold a session's secret. */
export const holdsConsoleCookie = (cookie: string): boolean => cookie.includes(COOKIE)

const SECRET = /^con_[1-9A-HJ-NP-Za-km-z]{30,40}$/

/** The session's secret. Undefined: none, no valid one, or several, of which another program on this host set some. */
export const consoleSecret = (header: HeaderOf, host?: string): string | undefined => {
  const start = `${consoleCookie(header, host).name}=`
  const [value, ...others] = (header('cookie') ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(start))
    .map((pair) => pair.slice(start.length))
  return value !== undefined && others.length === 0 && SECRET.test(value) ? value : undefined
}

const SAFE = ['GET', 'HEAD']

const foreign = () =>
  new AppError(
    'forbidden',
    `This call takes requests of the console's own pages only. Elsewhere, use an API key and the same path without ${CONSOLE_API}.`,
  )

/**
 * Denies requests that another origin made a browser send. `sec-fetch-site` is the browser's own statement; the header
 * of the console cannot be sent by other origins without a preflight, and none allows it. Reads that change nothing
 * may come from the address bar.
 */
export const checkOrigin = (header: HeaderOf, method: string): void => {
  const site = header('sec-fetch-site')
  const isRead = SAFE.includes(method)
  if (site !== 'same-origin' && !(isRead && (site === undefined || site === 'none'))) throw foreign()
  if (!isRead && !header(CONSOLE_HEADER)) throw foreign()
}

/**
 * Checks, as `checkOrigin` does for unsafe methods, calls of any method that sign in, or that a destination responds
 * to.
 */
export const checkOwnPage = (header: HeaderOf): void => checkOrigin(header, 'POST')

/** On every response to a call of the console: no page of our origin shows or runs it. */
export const CONSOLE_RESPONSE_HEADERS = {
  'content-security-policy': "sandbox; default-src 'none'",
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
} as const

/**
 * Headers of a response that reach the console, besides those that begin with `x-` or a header prefix: none of them
 * acts on our origin.
 */
export const PASSED_HEADERS: readonly string[] = [
  'age',
  'allow',
  'connection',
  'content-encoding',
  'content-language',
  'content-length',
  'content-type',
  'date',
  'etag',
  'expires',
  'idempotent-replayed',
  'keep-alive',
  'last-modified',
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
  'server',
  'transfer-encoding',
  'vary',
]
