import { chmod, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { Server as SocketServer } from 'node:net'
import { AppError } from './errors.ts'

/** Listens on a unix socket of mode 0600. Replaces a stale socket file. */
export const listenOn = async (server: SocketServer, socketPath: string): Promise<void> => {
  await rm(socketPath, { force: true })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(socketPath, resolve)
  })
  await chmod(socketPath, 0o600)
}

/**
 * HTTP on a unix socket (see `listenOn`); `server`: one with TLS. Resolves when it listens; `close` aborts open
 * connections.
 */
export const serveSocket = async (
  socketPath: string,
  listener: RequestListener,
  server: Server = createServer(),
): Promise<{ close(): Promise<void> }> => {
  server.on('request', listener)
  await listenOn(server, socketPath)
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** The JSON of a request of at most `limit` characters. Rejects with `too_large` and `malformed`. */
export const readJson = async (request: IncomingMessage, limit: number): Promise<unknown> => {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk
    if (text.length > limit) throw new AppError('too_large', 'The request is too large.')
  }
  try {
    return JSON.parse(text)
  } catch {
    throw new AppError('malformed', 'The request is not JSON.')
  }
}
