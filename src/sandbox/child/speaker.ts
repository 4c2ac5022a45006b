import { writeSync } from 'node:fs'
import type { Socket } from 'node:net'
import { encodeFrame } from '../frames.ts'
import type { FromChild } from '../protocol.ts'

/** Bytes of a message that is not held: it may fill the stream, and then no entry is to begin before it has gone. */
const LARGE = 16 * 1024

export interface Speaker {
  /** Holds a message until the next `flush`, so that what follows it closely is one write; a large one is not held. */
  say(message: FromChild, body?: string): void
  /** Hands over what is held, in order. */
  flush(): void
  readonly holding: boolean
}

const isFull = (thrown: unknown): boolean => (thrown as NodeJS.ErrnoException).code === 'EAGAIN'

/** Says things to the parent: straight to the descriptor of the stream, and by the stream itself when that is full. */
export const createSpeaker = (socket: Socket, fd: number): Speaker => {
  let held: Buffer[] = []

  const write = (bytes: Buffer): number => {
    if (socket.writableLength > 0) return 0
    try {
      return writeSync(fd, bytes)
    } catch (thrown) {
      if (isFull(thrown)) return 0
      throw thrown
    }
  }

  const flush = () => {
    const [first] = held
    if (first === undefined) return
    const bytes = held.length === 1 ? first : Buffer.concat(held)
    held = []
    const written = write(bytes)
    if (written < bytes.length) socket.write(bytes.subarray(written))
  }

  return {
    say: (message, body) => {
      const frame = encodeFrame(message, body)
      held.push(frame)
      if (frame.length > LARGE) flush()
    },
    flush,
    get holding() {
      return held.length > 0
    },
  }
}
