import { writeSync } from 'node:fs'
import type { Socket } from 'node:net'
import { encodeFrame, writeFrame } from '../frames.ts'
import type { FromChild } from '../protocol.ts'

/** Bytes that messages may take together to be held. */
const MOST_HELD = 64 * 1024

export interface MessageWriter {
  /** Holds a message until the next `flush`, so that what follows it closely is one write; a large one is not held. */
  say(message: FromChild, body?: string): void
  /** Hands over what is held, in order. */
  flush(): void
  readonly holding: boolean
}

const isFull = (thrown: unknown): boolean => (thrown as NodeJS.ErrnoException).code === 'EAGAIN'

/** Says things to the parent: straight to the descriptor of the stream, and by the stream itself when that is full. */
export const createMessageWriter = (socket: Socket, fd: number): MessageWriter => {
  // one piece of memory for all of them: this is interpreted, and each object and call shows
  const held = Buffer.allocUnsafeSlow(MOST_HELD)
  let length = 0

  const write = (bytes: Buffer, count: number): number => {
    if (socket.writableLength > 0) return 0
    try {
      return writeSync(fd, bytes, 0, count)
    } catch (thrown) {
      if (isFull(thrown)) return 0
      throw thrown
    }
  }

  const flush = () => {
    if (length === 0) return
    const written = write(held, length)
    if (written < length) socket.write(Buffer.from(held.subarray(written, length)))
    length = 0
  }

  return {
    say: (message, body) => {
      const end = writeFrame(held, length, message, body)
      if (end !== undefined) {
        length = end
        return
      }
      flush()
      const frame = encodeFrame(message, body)
      const written = write(frame, frame.length)
      if (written < frame.length) socket.write(frame.subarray(written))
    },
    flush,
    get holding() {
      return length > 0
    },
  }
}
