/** The gateway's own responses: `{ "proxy_error": … }` of completions §2, or what a transform decided. */
import { AppError, type CodeResponse } from '../common/errors.ts'
import { type Outcome, prefixHeaders } from '../ext-proc/contract.ts'
import type { HeaderRules } from './headers.ts'
import { isHidden, readHeaders } from './transform/headers.ts'
import type { LocalResponse } from './types.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

/** RFC 9110 §15.3.5, §15.4.5. */
const BODILESS = [204, 205, 304]

const bodyOf = ({ status, body }: CodeResponse): Buffer => {
  if (body === undefined || BODILESS.includes(status)) return Buffer.alloc(0)
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}

/** What a response says about its request. */
interface CallFacts {
  readonly traceId: string
  readonly outcome: Outcome
  readonly destinationStatus: string | undefined
}

/** Any thrown thing as a response to the caller, with the trace id in the header of its prefix. */
export const proxyError = (
  thrown: unknown,
  prefixes: HeaderRules,
  prefix: string,
  { traceId, outcome, destinationStatus }: CallFacts,
): LocalResponse => {
  const error = AppError.from(thrown)
  const names = prefixHeaders(prefix)
  const { response } = error
  const own = response?.body !== undefined
  const headers = new Map<string, string | readonly string[]>([
    ['content-type', own && typeof response.body === 'string' ? 'text/plain; charset=utf-8' : JSON_TYPE],
    ...(own ? (readHeaders(response.headers ?? {}, (name) => isHidden(name, prefixes)) ?? []) : []),
    [names.traceId, traceId],
  ])
  if (destinationStatus !== undefined) headers.set(names.destinationStatus, destinationStatus)
  headers.set(names.outcome, outcome)
  if (error.code === 'proxy_authentication_required')
    headers.set('proxy-authenticate', 'Basic realm="sidevault"')
  if (error.retryAfter !== undefined) headers.set('retry-after', String(error.retryAfter))
  if (error.allow !== undefined) headers.set('allow', error.allow.join(', '))
  return {
    status: error.status,
    headers,
    body: own ? bodyOf(response) : Buffer.from(JSON.stringify({ proxy_error: error.toProblem() })),
  }
}

/** The report of a dry run. */
export const dryRunReply = (dryRun: object, prefix: string, traceId: string): LocalResponse => ({
  status: 200,
  headers: new Map([
    ['content-type', JSON_TYPE],
    [prefixHeaders(prefix).traceId, traceId],
    [prefixHeaders(prefix).outcome, 'not_sent' satisfies Outcome],
  ]),
  body: Buffer.from(JSON.stringify(dryRun)),
})
