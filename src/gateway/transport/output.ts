import type { Duplex } from 'node:stream'

/** What a connection has to say, written together where it comes together: one system call for all of a turn. */
export interface Output {
  write(bytes: Buffer): void
  flush(): void
}

export const createOutput = (socket: Duplex): Output => {
  let waiting: Buffer[] = []
  let bytes = 0
  let scheduled = false

  const flush = () => {
    if (bytes === 0 || socket.destroyed) return
    const all = waiting.length === 1 ? (waiting[0] as Buffer) : Buffer.concat(waiting, bytes)
    waiting = []
    bytes = 0
    socket.write(all)
  }

  return {
    write(more) {
      waiting.push(more)
      bytes += more.length
      if (scheduled) return
      scheduled = true
      // Runs when the microtasks of this turn are through, and so are the answers that were ready.
      process.nextTick(() => {
        scheduled = false
        flush()
      })
    },
    flush,
  }
}
