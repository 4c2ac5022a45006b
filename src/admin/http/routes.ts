import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest, preParsingHookHandler } from 'fastify'
import { isCrossOrigin } from '../../common/cross-origin.ts'
import { AppError } from '../../common/errors.ts'
import { isObject } from '../../common/json.ts'
import type { LimitStatus } from '../../common/rate-limiter.ts'
import { withinSpan } from '../../common/tracing.ts'
import { writeJson } from '../../common/write-json.ts'
import { methodOf, pathOf, returnsNothing } from '../../kernel/check/operation.ts'
import type { Invocation, Kernel } from '../../kernel/types.ts'
import type { Caller, Operation } from '../../sdk/index.ts'
import { createSlowBodyLimiter } from '../slow-body-limiter.ts'
import { baseUrlOf } from './base-url.ts'
import { checkContentCoding, checkContentType, parseJsonBody } from './body.ts'
import { clientAddress } from './client-address.ts'
import { allowOrigin, exposedHeaders } from './cross-origin.ts'
import { REPLAYED_HEADER } from './header-prefixes.ts'
import { inputReader } from './input.ts'
import { JSON_TYPE } from './problem.ts'
import { addRateLimits } from './rate-limit-headers.ts'
import type { AppOptions } from './types.ts'

const hasBody = (request: FastifyRequest): boolean => {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.raw.headers
  return encoding !== undefined || (length !== undefined && length !== '0')
}

const NO_QUERY = new URLSearchParams()

const queryOf = (request: FastifyRequest): URLSearchParams => {
  const url = request.raw.url ?? ''
  const start = url.indexOf('?')
  return start === -1 ? NO_QUERY : new URLSearchParams(url.slice(start + 1))
}

/** Aborts when the client disconnects or the call times out; `done` releases the listeners. */
const watch = (reply: FastifyReply, timeout: number) => {
  const controller = new AbortController()
  const timer = setTimeout(() => {
    controller.abort(new AppError('gateway_timeout', 'The call took too long. Retry, or request less.'))
  }, timeout)
  let responded = false
  const sent = new Promise<void>((resolve) => {
    reply.raw.on('close', () => {
      if (!responded) controller.abort()
      resolve()
    })
  })
  return {
    signal: controller.signal,
    sent,
    done: () => {
      responded = true
      clearTimeout(timer)
    },
  }
}

const response = async (
  request: FastifyRequest,
  reply: FastifyReply,
  operation: Operation,
  output: unknown,
  baseUrl: string | undefined,
): Promise<FastifyReply> => {
  const status = operation.statusOf?.(output as never) ?? operation.status ?? 200
  reply.code(status)
  if (operation.location && status === 201)
    reply.header('location', baseUrlOf(request.raw.headers, baseUrl) + operation.location(output as never))
  if (returnsNothing(operation)) return reply.send()
  const body =
    operation.responseBody !== undefined && isObject(output) ? output[operation.responseBody] : output
  return reply.type(JSON_TYPE).send(await writeJson(body))
}

/** Headers of a deprecated operation: since when (RFC 9745), why, and its successor (RFC 5829). */
const deprecationHeaders = ({ rpc, deprecated }: Operation): Record<string, string> | undefined => {
  if (deprecated === undefined) return undefined
  const { since, replacedBy } = deprecated
  const successor = replacedBy.slice(replacedBy.indexOf(' ') + 1)
  return {
    deprecation: `@${Date.parse(since) / 1000}`,
    link: `</docs/api#${rpc}>; rel="deprecation"; type="text/html", <${successor}>; rel="successor-version"`,
  }
}

/** A route for each operation of the registry. */
export const addOperations = (app: FastifyInstance, kernel: Kernel, options: AppOptions): void => {
  const { admit } = options
  const watchBody = createSlowBodyLimiter(options.slowBodies)
  const exposed = exposedHeaders(options.prefixes)
  const watchIncoming = (tenantId: string, incoming: IncomingMessage): void => {
    if (incoming.complete) return
    const arrived = watchBody(tenantId, {
      isRejected: () => incoming.listenerCount('error') === 0,
      reject: (error) => incoming.emit('error', error),
    })
    incoming.once('close', arrived)
  }
  for (const operation of kernel.registry.operations) {
    const reader = inputReader(operation)
    const consumes = operation.consumes ?? []
    const deprecation = deprecationHeaders(operation)
    const isOpen = isCrossOrigin(operation.rpc)

    /** Authenticates once; the pipeline looks the caller up again after a slow body. */
    const callerOf = async ({ state }: FastifyRequest): Promise<Caller> => {
      if (state.identified === undefined) {
        const caller = await kernel.authenticator.authenticate(state.key, operation.permission)
        state.identified = { caller, at: performance.now() }
      }
      return state.identified.caller
    }

    /** The origin of the calling page, if some application allows it: then the page can read the response. */
    const allowedOrigin = async (origin: string, reply: FastifyReply): Promise<string | undefined> => {
      if (!(await allowOrigin(kernel, reply, operation, origin))) return undefined
      reply.header('access-control-expose-headers', exposed)
      return origin
    }

    /** Sessions are limited by the key that the call goes out with, which only their caller says. */
    const admitRequest = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      const { key, origin: sent } = request.state
      const address = clientAddress(request)
      const origin = sent === undefined || !isOpen ? undefined : await allowedOrigin(sent, reply)
      const report = (limits: readonly LimitStatus[]) => addRateLimits(reply, limits)
      if (typeof key !== 'object') return admit?.({ key, address, origin }, report)
      await admit?.({ key: undefined, address }, report)
      const { keyId } = await callerOf(request)
      return admit?.({ key: undefined, keyId, address: undefined }, report)
    }

    /** Authenticates before any byte of the body is read. */
    const authenticateFirst: preParsingHookHandler = (request, reply, _payload, done) => {
      if (deprecation !== undefined) reply.headers(deprecation)
      if (operation.permission === 'none' || !hasBody(request)) return done()
      callerOf(request).then((caller) => {
        request.state.caller = caller
        watchIncoming(caller.tenantId, request.raw)
        done()
      }, done)
    }

    const bodyOf = async (request: FastifyRequest): Promise<unknown> => {
      const bytes = request.body
      if (!reader.takesBody || !Buffer.isBuffer(bytes) || bytes.length === 0) return undefined
      checkContentType(request.state.contentType, consumes)
      checkContentCoding(request.raw.headers['content-encoding'])
      return parseJsonBody(bytes)
    }

    app.route({
      method: methodOf(operation),
      exposeHeadRoute: operation.singleRead !== true,
      url: pathOf(operation).replaceAll(/\{([^}]*)\}/g, ':$1'),
      config: { operation: operation.rpc, body: operation.body },
      ...(admit === undefined && !isOpen ? {} : { onRequest: admitRequest }),
      preParsing: authenticateFirst,
      handler: async (request, reply) => {
        const { state } = request
        const input = reader.read({
          params: request.params as Record<string, string>,
          query: queryOf(request),
          body: await bodyOf(request),
        })
        const { signal, sent, done } = watch(reply, options.callTimeout)
        try {
          const invocation: Invocation = {
            key: state.key,
            origin: state.origin,
            identified: state.identified,
            traceId: state.traceId,
            idempotencyKeys: state.idempotencyKeys,
            signal,
            sent,
            onCaller: (caller, rules) => {
              state.caller = caller
              state.rules = rules
            },
            ifMatch: state.ifMatch,
            onVersion: (version) => void reply.header('etag', `"${version}"`),
            onReplay: () => void reply.header(REPLAYED_HEADER, 'true'),
          }
          const output = await withinSpan(state.span, () => kernel.invoke(operation, input, invocation))
          return await response(request, reply, operation, output, options.baseUrl)
        } finally {
          done()
        }
      },
    })
  }
}
