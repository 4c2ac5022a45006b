/** The operations below `/console/api/`: the same routes, with a session in the place of a key (completions §16). */
import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  CONSOLE_API,
  CONSOLE_HEADER,
  CONSOLE_RESPONSE_HEADERS,
  checkOrigin,
  consoleSecret,
  type HeaderOf,
  PASSED_HEADERS,
} from '../../common/console.ts'
import { AppError } from '../../common/errors.ts'
import type { ConsoleSecret } from '../../kernel/types.ts'

/** Pages of the service itself that calls of the console reach, by their names. */
const PAGES = ['healthz', 'readyz', 'metrics', 'openapi']

type Rewritten = IncomingMessage & { originalUrl?: string }

/** The path of the route that a call of the console is for; other paths stay. */
export const routedPath = ({ url = '/' }: IncomingMessage): string =>
  url.startsWith(`${CONSOLE_API}/`) ? url.slice(CONSOLE_API.length) : url

/** True for a request whose path was rewritten. */
export const isConsoleCall = (request: Rewritten): boolean =>
  request.originalUrl !== undefined && request.originalUrl !== request.url

/** Operations that pages of the console call every few seconds. */
const POLLED: readonly string[] = ['Requests.List', 'Requests.Destinations']

/**
 * Whether a page of the console reads by itself. A session cannot leave out its other calls: its holder reads data.
 */
export const isBackground = ({ state }: Pick<FastifyRequest, 'state'>, operation: string): boolean =>
  POLLED.includes(operation) && typeof state.key === 'object' && !state.key.isUse

export const headerOf =
  ({ headers }: Pick<IncomingMessage, 'headers'>): HeaderOf =>
  (name) => {
    const value = headers[name]
    return Array.isArray(value) ? value.join(', ') : value
  }

/** The session that a request presents. */
export const presentedSession = (header: HeaderOf): ConsoleSecret => ({
  secret: consoleSecret(header),
  isUse: header(CONSOLE_HEADER) !== 'background',
})

/**
 * Judges a call of the console before anything else. Fails with `not_found`, `forbidden`, and `malformed` with an API
 * key: whose call it is must not depend on which of the two a server reads first.
 */
export const checkConsoleCall = (request: FastifyRequest, key: string | undefined): void => {
  const { operation } = request.routeOptions.config
  // Operations have a dot in their name; pages in HTML, and the console itself, are nothing that it calls.
  if (operation !== undefined && !operation.includes('.') && !PAGES.includes(operation))
    throw new AppError('not_found', `No such route below ${CONSOLE_API}.`)
  checkOrigin(headerOf(request.raw), request.method)
  if (key !== undefined)
    throw new AppError(
      'malformed',
      `Calls below ${CONSOLE_API} take no API key. Send the session's cookie only.`,
    )
}

const PASSED = new Set(PASSED_HEADERS)

/** Removes headers that would act on the console's origin: tenants' code chooses headers of some responses. */
export const guardResponse = (reply: FastifyReply, prefixes: readonly string[]): void => {
  for (const name of Object.keys(reply.getHeaders())) {
    const lower = name.toLowerCase()
    if (!PASSED.has(lower) && !['x-', ...prefixes].some((prefix) => lower.startsWith(prefix)))
      reply.removeHeader(name)
  }
  reply.headers(CONSOLE_RESPONSE_HEADERS)
}
