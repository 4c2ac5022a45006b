import { chmod, rm } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'

/**
 * HTTP on a unix socket that only this user may open; a left-over one is replaced. Resolves when it listens; `close`
 * breaks off what is still open.
 */
export const serveSocket = async (
  socketPath: string,
  listener: RequestListener,
): Promise<{ close(): Promise<void> }> => {
  const server = createServer(listener)
  await rm(socketPath, { force: true })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(socketPath, resolve)
  })
  await chmod(socketPath, 0o600)
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
