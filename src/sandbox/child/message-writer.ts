import { writeSync } from 'node:fs'
import type { Socket } from 'node:net'
import { encodeFrame, writeFrame } from '../frames.ts'
import type { FromChild } from '../protocol.ts'

/** Bytes of buffered messages. */
const BUFFER_BYTES = 64 * 1024

export interface MessageWriter {
  /** Buffers a message until the next `flush`, so that several are one write. A large message is written at once. */
  write(message: FromChild, body?: string): void
  /** Writes the buffered messages, in order. */
  flush(): void
  readonly hasPending: boolean
}

const isFull = (thrown: unknown): boolean => (thrown as NodeJS.ErrnoException).code === 'EAGAIN'

/** Writes messages to the parent: directly to the stream's descriptor, or through the stream when the pipe is full. */
export const createMessageWriter = (socket: Socket, fd: number): MessageWriter => {
  // one buffer for all messages: this code is interpreted (--jitless), so allocations and calls are expensive
  const held = Buffer.allocUnsafeSlow(BUFFER_BYTES)
  let length = 0

  const writeNow = (bytes: Buffer, count: number): number => {
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
    const written = writeNow(held, length)
    if (written < length) socket.write(Buffer.from(held.subarray(written, length)))
    length = 0
  }

  return {
    write: (message, body) => {
      const end = writeFrame(held, length, message, body)
      if (end !== undefined) {
        length = end
        return
      }
      flush()
      const frame = encodeFrame(message, body)
      const written = writeNow(frame, frame.length)
      if (written < frame.length) socket.write(frame.subarray(written))
    },
    flush,
    get hasPending() {
      return length > 0
    },
  }
}
