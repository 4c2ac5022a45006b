import { createServer, type IncomingMessage, type Server, STATUS_CODES } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import { isIPv6, type Socket } from 'node:net'
import type { Log } from '../../common/log.ts'
import { CLIENT_ADDRESS_HEADER } from '../../common/rate-limiter.ts'
import type { HttpTransport } from './app.ts'
import { endWithProblem } from './client-error.ts'
import { edgeRejection, METHODS, NO_CONNECT } from './edge-rejections.ts'
import { JSON_TYPE } from './problem.ts'
import { inOrder } from './request-order.ts'
import type { AppOptions } from './types.ts'

/** Certificate chain and private key, PEM. */
export interface Identity {
  readonly certificate: string
  readonly key: string
}

interface DirectListenerOptions
  extends Pick<AppOptions, 'headerLimit' | 'requestTimeout' | 'headersTimeout' | 'checkInterval'> {
  readonly host: string
  readonly port: number
  /** Absent: plain HTTP. */
  readonly identity?: Identity | undefined
  readonly log: Log
  /** Connections at a time; more are closed. Default 4,096. */
  readonly connections?: number | undefined
}

/** The management API on a TCP port, without Envoy. */
export interface DirectListener {
  /** `http://127.0.0.1:8081`, with the chosen port. */
  readonly address: string
  /** New connections get this certificate. Throws for an invalid one. */
  renew(identity: Identity): void
  /** Accepts no new connections and lets requests in flight finish within `drainMs`. */
  close(drainMs: number): Promise<void>
}

/** Each open connection holds a descriptor of the process that also holds store and journal. */
const CONNECTIONS = 4_096
/** ms without a byte in either direction, as at the edge. */
const IDLE_MS = 300_000
/** ms for the rest of a body after its response. */
const LINGER_MS = 1_000

/** Forwarded headers of callers mean nothing here; the app reads scheme and address from these two. */
const setOrigin = (request: IncomingMessage, scheme: string): void => {
  const { headers, socket } = request
  headers['x-forwarded-proto'] = scheme
  headers[CLIENT_ADDRESS_HEADER] = socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/, '')
  const url = request.url ?? '/'
  // The absolute form (RFC 9112 §3.2.2).
  if (!url.startsWith('/')) request.url = /^https?:\/\/[^/?#]*(\/[^#]*)/i.exec(url)?.[1] ?? '/'
}

const tlsOptions = ({ certificate, key }: Identity) =>
  ({ cert: certificate, key, minVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'] }) as const

/**
 * Serves the app of the transport on a port of its own, with the limits and rejections that Envoy has in front of it:
 * see src/admin/README.md, "Direct listener". Rejects when the port is in use or the certificate is invalid.
 */
export const startDirectListener = async (
  transport: HttpTransport,
  options: DirectListenerOptions,
): Promise<DirectListener> => {
  const { app, prefixes } = transport
  const { host, port, identity } = options
  const scheme = identity === undefined ? 'http' : 'https'
  let closing = false
  const { serve, atLast } = inOrder((request, response) => {
    const { socket } = request
    response.once('finish', () => {
      const endUnread = () => request.complete || socket.destroy()
      if (!request.complete) setTimeout(endUnread, LINGER_MS).unref()
      else if (closing) socket.end()
    })
    const problem = edgeRejection(request)
    if (problem === undefined) {
      setOrigin(request, scheme)
      app.routing(request, response)
      return
    }
    const { traceIdName, traceId } = prefixes(request.headers)
    const body = JSON.stringify(problem)
    response.writeHead(problem.status, STATUS_CODES[problem.status], {
      'content-type': JSON_TYPE,
      'content-length': Buffer.byteLength(body),
      [traceIdName]: traceId,
      connection: 'close',
    })
    response.end(body)
  })
  const httpOptions = {
    maxHeaderSize: options.headerLimit,
    headersTimeout: options.headersTimeout,
    requestTimeout: options.requestTimeout,
    connectionsCheckingInterval: options.checkInterval,
    keepAliveTimeout: IDLE_MS,
    // A missing host gets a problem as its response.
    requireHostHeader: false,
  }
  const tls: TlsServer | undefined =
    identity === undefined
      ? undefined
      : createTlsServer(
          { ...httpOptions, ...tlsOptions(identity), handshakeTimeout: options.headersTimeout },
          serve,
        )
  const server: Server = tls ?? createServer(httpOptions, serve)
  server.maxConnections = options.connections ?? CONNECTIONS
  server.on('checkExpectation', serve)
  // A response that its client does not read ends as at the edge.
  server.timeout = IDLE_MS
  server.on('clientError', (error, socket: Socket) =>
    atLast(socket, () => transport.onClientError(error, socket)),
  )
  // No route accepts CONNECT, so the methods are those of all routes, as at the edge.
  server.on('connect', ({ headers }: IncomingMessage, socket: Socket) => {
    // Node removes its own listener before it hands the connection over.
    socket.on('error', () => socket.destroy())
    atLast(socket, () => endWithProblem(socket, NO_CONNECT, prefixes(headers), METHODS))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, backlog: 1_024 }, resolve)
  })
  // Out of descriptors, for example: the listener accepts again when there are some.
  server.on('error', (err) => options.log.warn({ err }, 'a connection could not be accepted'))
  const bound = server.address()
  const chosen = typeof bound === 'object' && bound !== null ? bound.port : port
  return {
    address: `${scheme}://${isIPv6(host) ? `[${host}]` : host}:${chosen}`,
    renew: (next) => tls?.setSecureContext(tlsOptions(next)),
    close: async (drainMs) => {
      closing = true
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeIdleConnections()
      const timer = setTimeout(() => server.closeAllConnections(), drainMs)
      await closed
      clearTimeout(timer)
    },
  }
}
