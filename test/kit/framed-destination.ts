/** A TLS destination whose responses have the framing, size and trailers that their URL asks for. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createSecureServer } from 'node:http2'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Certificate } from './authority.ts'

/** Body of a response with so many bytes: only the letters A to P. */
export const framedBody = (bytes: number): Buffer => {
  const body = Buffer.allocUnsafe(bytes)
  for (let at = 0; at < bytes; at++) body[at] = 65 + (((at * 2_654_435_761) >>> 13) & 15)
  return body
}

const PIECE = 30_000

const respond = async (path: string, response: ServerResponse, isHttp2: boolean): Promise<void> => {
  const asked = new URL(path, 'https://x').searchParams
  const status = Number(asked.get('status') ?? 200)
  const framing = asked.get('framing')
  const hasTrailers = asked.has('trailers')
  const body = framedBody(Number(asked.get('bytes') ?? 0))
  response.setHeader('content-type', 'application/octet-stream')
  if (framing === 'length' && status === 200) response.setHeader('content-length', body.length)
  if (framing === 'close' && !isHttp2) {
    response.setHeader('connection', 'close')
    response.removeHeader('transfer-encoding')
  }
  if (hasTrailers && !isHttp2) response.setHeader('trailer', 'x-trailer')
  response.statusCode = status
  for (let at = 0; at < body.length; at += PIECE)
    if (!response.write(body.subarray(at, at + PIECE))) await once(response, 'drain')
  if (hasTrailers) response.addTrailers({ 'x-trailer': 'behind' })
  response.end()
}

export const startFramedDestination = async (
  certificate: Certificate,
  protocol: 'h1' | 'h2',
): Promise<{ readonly port: number; close(): Promise<void> }> => {
  const sockets = new Set<Socket>()
  const serve = (request: { readonly url?: string | undefined }, response: unknown) => {
    const to = response as ServerResponse
    to.on('error', () => {})
    respond(request.url ?? '', to, protocol === 'h2').catch(() => to.destroy())
  }
  const server =
    protocol === 'h2'
      ? createSecureServer({ ...certificate }, serve)
      : createServer({ ...certificate, ALPNProtocols: ['http/1.1'], keepAliveTimeout: 0 }, serve)
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
  })
  server.on('sessionError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
