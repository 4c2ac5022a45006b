import { chmod, rm } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { Server } from 'node:net'

/** Listens on a unix socket of mode 0600. Replaces a stale socket file. */
export const listenOn = async (server: Server, socketPath: string): Promise<void> => {
  await rm(socketPath, { force: true })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(socketPath, resolve)
  })
  await chmod(socketPath, 0o600)
}

/** HTTP server on a unix socket (see `listenOn`). Resolves when it listens; `close` aborts open connections. */
export const serveSocket = async (
  socketPath: string,
  listener: RequestListener,
): Promise<{ close(): Promise<void> }> => {
  const server = createServer(listener)
  await listenOn(server, socketPath)
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
