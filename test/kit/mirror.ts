/** A destination that responds with what a test sets, piece by piece. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createSecureServer } from 'node:http2'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Certificate } from './authority.ts'

/** A response. `pieces` are written one after the other, each in a turn of its own. */
export interface Mirrored {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly pieces?: readonly (string | Buffer)[]
  readonly trailers?: Readonly<Record<string, string>>
  /** Between two pieces; resolves when the next one may follow. */
  readonly between?: (at: number) => Promise<void>
  /** Breaks off behind the pieces. */
  readonly breaks?: boolean
}

interface Mirror {
  readonly port: number
  /** Headers of the request that came last. */
  headers: IncomingMessage['headers']
  /** What it responds, with the complete body of the request. */
  respond: (body: string) => Mirrored
  close(): Promise<void>
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

export const startMirror = async ({ cert, key }: Certificate, protocol: 'h1' | 'h2'): Promise<Mirror> => {
  const sockets = new Set<Socket>()
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    mirror.headers = request.headers
    const {
      status = 200,
      headers = {},
      pieces = [],
      trailers,
      between = turn,
      breaks,
    } = mirror.respond(Buffer.concat(chunks).toString())
    response.writeHead(status, headers as Record<string, string | string[]>)
    if (trailers) response.addTrailers(trailers)
    for (const [at, piece] of pieces.entries()) {
      if (at > 0) await between(at)
      await new Promise<void>((resolve) => response.write(piece, () => resolve()))
    }
    if (breaks) {
      // What was written has time to arrive: a reset would overtake it.
      await new Promise((resolve) => setTimeout(resolve, 100))
      request.socket.destroy()
    } else response.end()
  }
  const handle = (request: unknown, response: unknown) => {
    respond(request as IncomingMessage, response as ServerResponse).catch(() => {})
  }
  const server =
    protocol === 'h1'
      ? createServer({ cert, key }, handle)
      : createSecureServer({ cert, key, allowHTTP1: false }, handle)
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const mirror: Mirror = {
    port: (server.address() as AddressInfo).port,
    headers: {},
    respond: (body) => ({ pieces: [body] }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
  return mirror
}
