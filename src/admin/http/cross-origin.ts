/** CORS for the operations that pages of other origins may call (completions §20). */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { isCrossOrigin } from '../../common/cross-origin.ts'
import { methodOf, pathOf } from '../../kernel/check/operation.ts'
import type { Kernel } from '../../kernel/types.ts'
import type { Operation } from '../../sdk/index.ts'
import { clientAddress } from './client-address.ts'
import type { Unmatched } from './client-error.ts'
import type { AppOptions } from './types.ts'

/** Seconds for which a browser may remember a preflight: the call itself is judged each time. */
const MAX_AGE = 7_200

type Origins = Pick<Kernel, 'allowedOrigins'>

/**
 * Adds the header that lets a page of `origin` read the response. False when no application of any tenant allows the
 * origin. Responses to calls without an origin do not have `Vary`, since no response is ever stored.
 */
export const allowOrigin = async (
  { allowedOrigins }: Origins,
  reply: FastifyReply,
  operation: Operation,
  origin: string,
): Promise<boolean> => {
  reply.header('vary', 'Origin')
  const allowed = await allowedOrigins.for(operation, origin)
  if (allowed === undefined) return false
  reply.header('access-control-allow-origin', allowed)
  return true
}

/** Headers of responses that pages can read. */
export const exposedHeaders = (prefixes: readonly string[]): string =>
  [
    ...prefixes.map((prefix) => `${prefix}-TRACE-ID`),
    ...['ETag', 'Idempotent-Replayed', 'Location', 'RateLimit', 'RateLimit-Policy', 'Retry-After'],
  ].join(', ')

/** A route for the preflights (Fetch standard, "CORS-preflight request") of each path. All others are 405 as ever. */
export const addPreflights = (
  app: FastifyInstance,
  kernel: Pick<Kernel, 'registry'> & Origins,
  { prefixes, admit }: Pick<AppOptions, 'prefixes' | 'admit'>,
  unmatched: Unmatched,
): void => {
  const accepted = [
    ...prefixes.flatMap((prefix) => [`${prefix}-API-KEY`, `${prefix}-IDEMPOTENCY-KEY`, `${prefix}-TRACE-ID`]),
    ...['Content-Type', 'Idempotency-Key', 'If-Match', 'traceparent', 'tracestate'],
  ].join(', ')
  const open = kernel.registry.operations.filter(({ rpc }) => isCrossOrigin(rpc))
  for (const [path, operations] of Map.groupBy(open, pathOf))
    app.route({
      method: 'OPTIONS',
      url: path.replaceAll(/\{([^}]*)\}/g, ':$1'),
      config: { operation: 'preflight' },
      handler: async (request, reply) => {
        await admit?.({ key: undefined, address: clientAddress(request) })
        const { origin, 'access-control-request-method': method } = request.raw.headers
        const operation = operations.find((candidate) => methodOf(candidate) === method)
        if (
          origin === undefined ||
          operation === undefined ||
          !(await allowOrigin(kernel, reply, operation, origin))
        )
          throw unmatched(request)
        return reply
          .code(204)
          .headers({
            'access-control-allow-methods': method,
            'access-control-allow-headers': accepted,
            'access-control-max-age': MAX_AGE,
          })
          .send()
      },
    })
}
