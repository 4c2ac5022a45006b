import type { Duplex } from 'node:stream'

/** Output of a connection: all writes of one turn share a system call. */
export interface Output {
  /** `bytes` must not change any more. */
  write(bytes: Buffer): void
  flush(): void
}

/** Bytes from which on a piece is written without a copy. */
const LARGE = 4_096

/** Merges small pieces by copying. */
const gather = (pieces: readonly Buffer[]): readonly Buffer[] => {
  const gathered: Buffer[] = []
  let small: Buffer[] = []
  const close = () => {
    if (small.length > 0) gathered.push(small.length === 1 ? (small[0] as Buffer) : Buffer.concat(small))
    small = []
  }
  for (const piece of pieces) {
    if (piece.length < LARGE) small.push(piece)
    else {
      close()
      gathered.push(piece)
    }
  }
  close()
  return gathered
}

export const createOutput = (socket: Duplex): Output => {
  let waiting: Buffer[] = []
  let scheduled = false

  const flush = () => {
    if (waiting.length === 0 || socket.destroyed) return
    const pieces = gather(waiting)
    waiting = []
    if (pieces.length > 1) socket.cork()
    for (const piece of pieces) socket.write(piece)
    if (pieces.length > 1) socket.uncork()
  }

  return {
    write(more) {
      waiting.push(more)
      if (scheduled) return
      scheduled = true
      // Runs after the microtasks of this turn, when all ready replies are queued.
      process.nextTick(() => {
        scheduled = false
        flush()
      })
    },
    flush,
  }
}
