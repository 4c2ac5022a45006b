/** Calls of the console: `/console/api/proxy`, with a session in the place of an API key (completions §16). */
import { CONSOLE_API, CONSOLE_HEADER, checkOwnPage, consoleSecret, type HeaderOf } from '../common/console.ts'
import { AppError } from '../common/errors.ts'
import type { ConsoleSecret } from '../kernel/types.ts'
import { type Head, type HeaderRules, isFlagSet, prefixed } from './headers.ts'

/** True for a path that Envoy's routes of the console match. */
export const isConsoleRequest = (path: string): boolean => path.startsWith(`${CONSOLE_API}/proxy`)

/**
 * The session of a call of the console. Throws `forbidden` for a request that another origin made a browser send, and
 * `malformed` for an API key and for a streamed body.
 */
export const sessionOf = (head: Head, rules: HeaderRules): ConsoleSecret => {
  const header: HeaderOf = (name) => head.get(name)?.join('; ')
  checkOwnPage(header)
  if (prefixed(head, rules, 'apiKey') !== undefined)
    throw new AppError(
      'malformed',
      `Calls below ${CONSOLE_API} take no API key. Send the session's cookie only.`,
    )
  if (isFlagSet(head, rules, 'stream'))
    throw new AppError(
      'malformed',
      'The console streams no bodies. Send the request to /proxy, with an API key.',
    )
  return {
    secret: consoleSecret(header, header(':authority')),
    isUse: header(CONSOLE_HEADER) !== 'background',
  }
}

/**
 * Throws `forbidden` for a request whose response a browser would show as a page, or run as a script, of the console's
 * origin (W3C Fetch Metadata Request Headers, "sec-fetch-dest"): it could act with the session of the user who is
 * signed in.
 */
export const rejectBrowserNavigation = (head: Head): void => {
  const use = head.get('sec-fetch-dest')?.[0]
  if (use !== undefined && use !== 'empty')
    throw new AppError(
      'forbidden',
      "A browser would show this response on the console's origin. Call /proxy by fetch(), or from another host.",
    )
}
