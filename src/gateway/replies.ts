/** The gateway's own answers: `{ "proxy_error": … }` of completions §2. */
import { AppError } from '../common/errors.ts'
import { brandHeaders } from '../control-plane/agreement.ts'

export interface Reply {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

/** Any thrown thing as an answer to the caller, with the trace id in its brand's header. */
export const proxyError = (thrown: unknown, brand: string, traceId: string): Reply => {
  const error = AppError.from(thrown)
  const headers = new Map([
    ['content-type', 'application/json; charset=utf-8'],
    [brandHeaders(brand).traceId, traceId],
  ])
  if (error.retryAfter !== undefined) headers.set('retry-after', String(error.retryAfter))
  if (error.allow !== undefined) headers.set('allow', error.allow.join(', '))
  return {
    status: error.status,
    headers,
    body: Buffer.from(JSON.stringify({ proxy_error: error.toProblem() })),
  }
}
