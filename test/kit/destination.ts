import { once } from 'node:events'
import { createServer as createPlainServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { Certificate } from './authority.ts'

/** A request as it arrived. */
interface Received {
  readonly method: string
  readonly path: string
  readonly httpVersion: string
  /** Names and values in turn, as sent. */
  readonly rawHeaders: readonly string[]
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** undefined while it is still arriving. */
  body: Buffer | undefined
}

export interface Destination {
  readonly port: number
  /** Every request whose headers arrived, also those whose body never did. */
  readonly received: Received[]
  /** The request that arrived last; throws when none has. */
  last(): Received
  /** Connections that sent at least one byte inside TLS. */
  connections(): number
  close(): Promise<void>
}

type Request = IncomingMessage | Http2ServerRequest
type Response = ServerResponse | Http2ServerResponse

const write = (response: Response, chunk: string | Buffer): boolean =>
  (response as ServerResponse).write(chunk)

/**
 * Behaviours by path: `/sse?n=&ms=` events, `/large?bytes=`, `/gzip`, `/slow?ms=`, `/reset`, `/halfway` (breaks off in
 * the body), `/status/<n>`, `/redirect`, `/forge` (headers with our prefix), `/large-json?bytes=&length=1` (a JSON
 * text; with or without a length), `/response` (what the header `x-response` says), `/headers?n=&bytes=`, `/raw?bytes=`
 * (HTTP/1.1 as given, which must end its connection); anything else echoes the request as JSON.
 */
const behave = async (request: Request, response: Response, record: Received): Promise<void> => {
  const url = new URL(record.path, 'https://x')
  const number = (name: string, otherwise: number) => Number(url.searchParams.get(name) ?? otherwise)
  const end = (status: number, headers: Record<string, string>, body: string | Buffer = '') => {
    ;(response as ServerResponse).writeHead(status, headers)
    response.end(body)
  }
  if (url.pathname === '/sse') {
    ;(response as ServerResponse).writeHead(200, { 'content-type': 'text/event-stream' })
    for (let index = 0; index < number('n', 3); index++) {
      write(response, `data: ${index}\n\n`)
      await new Promise((resolve) => setTimeout(resolve, number('ms', 50)).unref())
    }
    response.end()
  } else if (url.pathname === '/large') {
    ;(response as ServerResponse).writeHead(200, { 'content-type': 'application/octet-stream' })
    const chunk = Buffer.alloc(65_536, 'x')
    for (let left = number('bytes', 1 << 20); left > 0; left -= chunk.length)
      if (!write(response, left >= chunk.length ? chunk : chunk.subarray(0, left)))
        await once(response, 'drain')
    response.end()
  } else if (url.pathname === '/gzip')
    end(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }, gzipSync('{"zipped":true}'))
  else if (url.pathname === '/slow') {
    const timer = setTimeout(() => end(200, {}, 'late'), number('ms', 1000))
    response.once('close', () => clearTimeout(timer))
  } else if (url.pathname === '/reset') request.socket.destroy()
  else if (url.pathname === '/halfway') {
    ;(response as ServerResponse).writeHead(200, { 'content-length': '100' })
    write(response, 'half')
    setImmediate(() => request.socket.destroy())
  } else if (url.pathname.startsWith('/status/'))
    end(Number(url.pathname.slice(8)), { 'x-from': 'destination', 'content-type': 'text/plain' }, 'as it is')
  else if (url.pathname === '/large-json') {
    const body = JSON.stringify('x'.repeat(number('bytes', 1 << 20)))
    const length = url.searchParams.has('length') ? { 'content-length': String(body.length) } : {}
    ;(response as ServerResponse).writeHead(200, { 'content-type': 'application/json', ...length })
    write(response, body.slice(0, 10))
    response.end(body.slice(10))
  } else if (url.pathname.startsWith('/response')) {
    const { status = 200, headers = {}, body = '', base64 } = JSON.parse(String(record.headers['x-response']))
    end(status, headers, base64 === undefined ? body : Buffer.from(base64, 'base64'))
  } else if (url.pathname === '/headers') {
    const names = Array.from({ length: number('n', 100) }, (_, index) => `x-header-${index}`)
    end(200, Object.fromEntries(names.map((name) => [name, 'v'.repeat(number('bytes', 1))])), 'whole')
  } else if (url.pathname === '/raw') request.socket.write(url.searchParams.get('bytes') ?? '')
  else if (url.pathname === '/redirect') end(302, { location: 'https://elsewhere.test/' })
  else if (url.pathname === '/forge')
    end(200, {
      'svc-proxy-destination-status': '299',
      'svc-trace-id': 'forged',
      'bt-proxy-destination-status': '298',
      'bt-trace-id': 'forged too',
    })
  else
    end(
      200,
      { 'content-type': 'application/json', 'x-from': 'destination', server: 'theirs' },
      JSON.stringify({ ...record, body: record.body?.toString('base64') }),
    )
}

/**
 * A destination on 127.0.0.1 (or `host`) that remembers every request. Without a certificate it speaks plain HTTP/1.1.
 */
export const startDestination = async (
  certificate: Certificate | undefined,
  options: {
    readonly protocol?: 'h1' | 'h2'
    readonly socketPath?: string
    readonly host?: string
    readonly port?: number
  } = {},
): Promise<Destination> => {
  const received: Received[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const onRequest = (request: Request, response: Response) => {
    const record: Received = {
      method: request.method ?? '',
      path: request.url ?? '',
      httpVersion: request.httpVersion,
      rawHeaders: request.rawHeaders,
      headers: request.headers,
      body: undefined,
    }
    received.push(record)
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      record.body = Buffer.concat(chunks)
      behave(request, response, record).catch(() => response.destroy())
    })
    request.on('error', () => {})
    response.on('error', () => {})
  }
  const server =
    certificate === undefined
      ? createPlainServer(onRequest)
      : options.protocol === 'h2'
        ? createSecureServer({ ...certificate, allowHTTP1: true }, onRequest as never)
        : createTlsServer(
            // More than the edge accepts: a response to headers that are too large can be lost with its connection.
            { ...certificate, ALPNProtocols: ['http/1.1'], maxHeaderSize: 128 * 1024 },
            onRequest as never,
          )
  // Node's 5 s end a resting connection just as Envoy uses it again, where a machine is slow.
  if ('keepAliveTimeout' in server) server.keepAliveTimeout = 0
  server.on(certificate === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    connections++
    socket.on('error', () => {})
  })
  // Connections in a TLS handshake would keep the server open.
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('tlsClientError', () => {})
  server.on('sessionError', () => {})
  if (options.socketPath === undefined) server.listen(options.port ?? 0, options.host ?? '127.0.0.1')
  else server.listen(options.socketPath)
  await once(server, 'listening')
  const address = server.address()
  return {
    port: typeof address === 'string' ? 0 : (address as AddressInfo).port,
    received,
    last: () => {
      const last = received.at(-1)
      if (last === undefined) throw new Error('nothing arrived')
      return last
    },
    connections: () => connections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
