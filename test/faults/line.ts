import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { PostgresServer } from '../kit/postgres.ts'

/** A port of this machine behind which a server of ours is, or another one later. */
export interface Line {
  readonly port: number
  /** From the next connection on it leads to this server; connections that are there stay. */
  lead(server: PostgresServer): void
  /** While `on`, nothing passes in either direction and no connection is rejected. */
  silence(on: boolean): void
  close(): void
}

export const startLine = async (server: PostgresServer): Promise<Line> => {
  const sockets = new Set<Socket>()
  let target = server
  let silent = false
  const line = createServer((near) => {
    const far = connect(join(target.socketDirectory as string, '.s.PGSQL.5432'))
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.on('data', (chunk) => void other.write(chunk))
      one.on('error', () => other.destroy())
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
      if (silent) one.pause()
    }
  })
  await new Promise<void>((resolve) => line.listen(0, '127.0.0.1', resolve))
  return {
    port: (line.address() as { port: number }).port,
    lead: (other) => {
      target = other
    },
    silence: (on) => {
      silent = on
      for (const socket of sockets) on ? socket.pause() : socket.resume()
    },
    close: () => {
      line.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
