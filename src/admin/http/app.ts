import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { AppError } from '../../common/errors.ts'
import { PUBLIC_PAGES } from '../../common/rate-limiter.ts'
import { startSpan } from '../../common/tracing.ts'
import type { ConsoleSecret } from '../../kernel/types.ts'
import {
  checkConsoleCall,
  guardResponse,
  headerOf,
  isBackground,
  isConsoleCall,
  presentedSession,
  routedPath,
} from '../console/api.ts'
import { createCallRecorder } from '../record-call.ts'
import { createAllowHeader } from './allow-header.ts'
import { clientAddress } from './client-address.ts'
import { clientErrorHandler, type Unmatched } from './client-error.ts'
import { addPreflights } from './cross-origin.ts'
import { createHeaderPrefixes } from './header-prefixes.ts'
import { fromFramework, sendProblem } from './problem.ts'
import { addOperations } from './routes.ts'
import type { AppDeps, AppOptions, RequestState } from './types.ts'

/** Longer than Envoy's idle timeout (1 h), so that Envoy never writes to a connection that is being closed. */
const KEEP_ALIVE_TIMEOUT = 65 * 60_000

const UNMATCHED = 'unmatched'

/** Probes call these every few seconds, as pages of the console do, which load all files at once. */
const PROBES: Readonly<Record<string, true>> = {
  healthz: true,
  readyz: true,
  metrics: true,
  console_assets: true,
}

const operationOf = ({ routeOptions }: FastifyRequest): string => routeOptions.config?.operation ?? UNMATCHED

const bytesOf = (length: unknown): number | undefined => (length === undefined ? undefined : Number(length))

/** The app, and what a further server in front of it needs. */
export interface HttpTransport {
  readonly app: FastifyInstance
  readonly prefixes: ReturnType<typeof createHeaderPrefixes>
  /** Responds to a request that the parser rejected. */
  readonly onClientError: ReturnType<typeof clientErrorHandler>
}

const NO_PROXY_HERE =
  '/proxy is not served here. Send the call to the edge of a node with the role all or gateway.'

/**
 * The HTTP transport: routes of the registry, own pages, and what all responses share: the trace id header, the error
 * shape, 404 or 405, metrics and access log. Not listening yet.
 */
export const createApp = (deps: AppDeps, options: AppOptions): HttpTransport => {
  const { kernel, log } = deps
  const { admit } = options
  const prefixes = createHeaderPrefixes(options.prefixes)
  const ownHeaders = options.prefixes.map((prefix) => `${prefix.toLowerCase()}-`)
  const allowed = createAllowHeader(
    kernel.registry.operations,
    deps.own.filter(({ consoleOnly }) => consoleOnly !== true),
  )

  const unmatched: Unmatched = ({ url, method }) => {
    const path = url.split('?', 1)[0]!
    const allow = allowed(path)
    return allow.length === 0
      ? new AppError('not_found', /^\/proxy(\/|$)/.test(path) ? NO_PROXY_HERE : options.absent)
      : new AppError(
          'method_not_allowed',
          `This path does not accept ${method}. It accepts ${allow.join(', ')}.`,
          { allow },
        )
  }

  const onClientError = clientErrorHandler(prefixes, unmatched)

  const receive = (request: FastifyRequest, reply: FastifyReply) => {
    const { headers } = request.raw
    const { key, traceId, parent, traceIdName, idempotencyKeys, ifMatch } = prefixes(headers)
    const isConsole = options.console === true && isConsoleCall(request.raw)
    const contentType = headers['content-type']
    const startedAt = performance.now()
    const operation = operationOf(request)
    request.state = {
      key: isConsole ? presentedSession(headerOf(request.raw)) : key,
      isConsole,
      traceId,
      traceIdName,
      idempotencyKeys,
      ifMatch,
      origin: isConsole ? undefined : headers.origin,
      contentType,
      startedAt,
      span: operation in PROBES ? undefined : startSpan(operation, parent, traceId),
      caller: undefined,
      identified: undefined,
      errorCode: undefined,
      rules: [],
    }
    // The framework would reject an unknown content type without a body. To delete the header would slow all requests.
    if (contentType !== undefined) headers['content-type'] = undefined
    reply.header(traceIdName, traceId)
    reply.header('x-content-type-options', 'nosniff')
    reply.header('cache-control', 'no-store')
    if (isConsole) guardResponse(reply, ownHeaders)
  }

  const recordCall = createCallRecorder(deps)
  const record = (request: FastifyRequest, reply: FastifyReply, operation: string) => {
    const { startedAt, traceId, span, caller, rules, errorCode, isConsole } = request.state
    recordCall({
      operation,
      startedAt,
      traceId,
      span,
      caller,
      rules,
      method: request.method,
      route: request.routeOptions.url ?? operation,
      status: reply.statusCode,
      code: errorCode,
      requestBytes: bytesOf(request.raw.headers['content-length']),
      responseBytes: bytesOf(reply.getHeader('content-length')),
      isProbe: operation in PROBES,
      isBackground: isBackground(request, operation),
      isConsole: isConsole || operation.startsWith('console'),
    })
  }

  const app = fastify({
    logger: false,
    ...(options.console === true ? { rewriteUrl: routedPath } : {}),
    bodyLimit: options.bodyLimit,
    requestTimeout: options.requestTimeout,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    http: {
      maxHeaderSize: options.headerLimit,
      headersTimeout: options.headersTimeout,
      connectionsCheckingInterval: options.checkInterval,
    },
    routerOptions: {
      ignoreTrailingSlash: true,
      // Ids have up to 400 characters, each up to 12 bytes when encoded.
      maxParamLength: options.headerLimit,
      querystringParser: () => ({}),
    },
    clientErrorHandler: onClientError,
    frameworkErrors: (error, request, reply) => {
      receive(request as FastifyRequest, reply as FastifyReply)
      const problem = fromFramework(error)
      ;(request as FastifyRequest).state.errorCode = problem.code
      sendProblem(reply as FastifyReply, problem)
      record(request as FastifyRequest, reply as FastifyReply, UNMATCHED)
    },
  })

  // Node has handled 100-continue, the only defined expectation. It would send 417 without a body for others.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))

  app.decorateRequest('state', null as unknown as RequestState)
  app.removeAllContentTypeParsers()
  // Bodies of any content type are read as bytes: an operation without a body accepts any (completions §1).
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  // Hooks with a callback cost less than those with a promise.
  app.addHook('onRequest', (request, reply, done) => {
    receive(request, reply)
    const isHidden = request.routeOptions.config?.consoleOnly === true && !request.state.isConsole
    if (request.is404 || isHidden) return done(unmatched(request))
    if (request.state.isConsole) checkConsoleCall(request, prefixes(request.raw.headers).key)
    done()
  })
  if (options.console === true)
    app.addHook('onSend', (request, reply, _payload, done) => {
      if (request.state.isConsole) guardResponse(reply, ownHeaders)
      done()
    })
  app.addHook('onResponse', (request, reply, done) => {
    record(request, reply, operationOf(request))
    done()
  })
  app.setErrorHandler((thrown, request, reply) => {
    const error = fromFramework(thrown)
    if (error.code === 'internal' && !(thrown instanceof AppError))
      log.error({ err: thrown, trace_id: request.state.traceId }, 'HTTP request failed')
    // To close, as the framework does, resets the connection while the body is still sent: Envoy then loses the
    // response.
    if (error.code === 'too_large' || error.code === 'request_timeout') {
      reply.removeHeader('connection')
      request.raw.resume()
    }
    request.state.errorCode = error.code
    return sendProblem(reply, error, request.routeOptions.config?.body)
  })

  for (const { method = 'GET', path, name, bodyLimit, consoleOnly = false, handler } of deps.own) {
    // A first view loads all files of the console, which are in memory: they count as calls. Anonymous requests for
    // other pages lock no user out of the console, and attempts to sign in do not prevent signing out.
    const pages =
      name === 'console_assets'
        ? {}
        : { pages: name.startsWith('console') ? `${method} ${name}` : PUBLIC_PAGES }
    app.route({
      method,
      ...(bodyLimit === undefined ? {} : { bodyLimit }),
      url: path.replaceAll(/\{([^}]*)\}/g, ':$1'),
      config: { operation: name, consoleOnly },
      // Liveness probes have no rate limit.
      ...(admit === undefined || name === 'healthz'
        ? {}
        : {
            onRequest: async (request) =>
              admit({ key: undefined, address: clientAddress(request), ...pages }),
          }),
      handler: consoleOnly
        ? async (request, reply) => {
            await kernel.authenticator.consoleSession(request.state.key as ConsoleSecret)
            return handler(request, reply)
          }
        : handler,
    })
  }
  addOperations(app, kernel, options)
  addPreflights(app, kernel, options, unmatched)
  return { app, prefixes, onClientError }
}
