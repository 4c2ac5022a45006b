import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Certificate } from './authority.ts'

/** The received part of a request's body. */
export interface Arrival {
  readonly path: string
  readonly httpVersion: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  bytes: number
  /** Of all of it, once it ended. */
  sha256: string
  /** Its first 64 KiB. */
  head: Buffer
  trailers: Readonly<Record<string, string | undefined>>
  /** `clean`: the destination takes the request for whole. */
  end: 'clean' | 'aborted' | undefined
}

export interface Receiver {
  readonly port: number
  readonly arrivals: Arrival[]
  /** Resolves when the last one has ended, in whatever way. */
  ended(): Promise<Arrival>
  /** Lets bodies to `/held` flow. */
  letGo(): void
  close(): Promise<void>
}

const HEAD = 65_536

/**
 * A TLS destination that counts and hashes what it receives, and distinguishes the end of a body from an aborted one.
 * `/held` reads nothing until it is let go; `/early` responds with 413 before it reads; `/early-keep` responds and
 * reads on.
 */
export const startReceiver = async (certificate: Certificate, protocol: 'h1' | 'h2'): Promise<Receiver> => {
  const arrivals: Arrival[] = []
  const sockets = new Set<Socket>()
  const held = new Set<() => void>()
  let reported = () => {}
  const take = (
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
  ) => {
    const hash = createHash('sha256')
    const arrival: Arrival = {
      path: request.url ?? '',
      httpVersion: request.httpVersion,
      headers: request.headers,
      bytes: 0,
      sha256: '',
      head: Buffer.alloc(0),
      trailers: {},
      end: undefined,
    }
    arrivals.push(arrival)
    const respond = (status: number) => {
      ;(response as ServerResponse).writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ bytes: arrival.bytes }))
    }
    const end = (how: 'clean' | 'aborted') => {
      if (arrival.end !== undefined) return
      arrival.end = how
      arrival.sha256 = hash.digest('hex')
      arrival.trailers = request.trailers as Arrival['trailers']
      reported()
    }
    const read = () => {
      request.on('data', (chunk: Buffer) => {
        arrival.bytes += chunk.length
        hash.update(chunk)
        if (arrival.head.length < HEAD) arrival.head = Buffer.concat([arrival.head, chunk.subarray(0, HEAD)])
      })
    }
    request.on('end', () => {
      if (!request.complete) return
      end('clean')
      if (!response.headersSent) respond(200)
    })
    for (const event of ['aborted', 'error', 'close'] as const) request.on(event, () => end('aborted'))
    response.on('error', () => {})
    if (arrival.path.startsWith('/held')) held.add(read)
    else if (arrival.path.startsWith('/early')) {
      respond(413)
      if (arrival.path === '/early-keep') read()
    } else read()
  }
  const server =
    protocol === 'h2'
      ? createSecureServer({ ...certificate }, take)
      : createServer({ ...certificate, ALPNProtocols: ['http/1.1'] }, take)
  // Node's 5 s end a resting connection just as Envoy uses it again, where a machine is slow.
  if ('keepAliveTimeout' in server) server.keepAliveTimeout = 0
  // Connections in a TLS handshake would keep the server open.
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('secureConnection', (socket: Socket) => socket.on('error', () => {}))
  server.on('sessionError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    arrivals,
    ended: async () => {
      for (;;) {
        const last = arrivals.at(-1)
        if (last?.end !== undefined) return last
        await new Promise<void>((resolve) => {
          reported = resolve
          setTimeout(resolve, 50)
        })
      }
    },
    letGo: () => {
      for (const read of held) read()
      held.clear()
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
