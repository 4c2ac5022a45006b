import { createServer } from 'node:net'
import { createGcPressure } from '../common/gc-pressure.ts'
import { listenOn } from '../common/serve-socket.ts'
import type { Call, CallHandler } from './call.ts'
import { type Connection, type ConnectionLimits, serveConnection } from './connection.ts'

interface Listener {
  /** Accepts no more calls, waits up to `graceMs` for open ones, then resets them. */
  close(graceMs: number): Promise<void>
}

/** Serves calls on a unix socket with mode 0600; a stale socket is replaced. Resolves when it listens. */
export const listen = async (
  socketPath: string,
  accept: (call: Call) => CallHandler,
  limits: ConnectionLimits,
): Promise<Listener> => {
  const connections = new Set<Connection>()
  const gcPressure = createGcPressure()
  const server = createServer((socket) => {
    const connection = serveConnection(socket, accept, limits)
    connections.add(connection)
    socket.on('data', (chunk: Buffer) => gcPressure(chunk.length))
    socket.on('close', () => connections.delete(connection))
  })
  await listenOn(server, socketPath)
  return {
    close: (graceMs) =>
      new Promise((resolve) => {
        const timer = setTimeout(() => {
          for (const connection of connections) connection.destroy()
        }, graceMs)
        server.close(() => {
          clearTimeout(timer)
          resolve()
        })
        for (const connection of connections) connection.drain()
      }),
  }
}
