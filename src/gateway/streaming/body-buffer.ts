/**
 * The body of one request, received and sent in pieces. What has arrived and is not read yet, and what Envoy has not
 * read yet, are bounded: Envoy stops reading its caller, or we stop reading, until there is room again.
 */
import { AppError } from '../../common/errors.ts'
import type { Call } from '../../ext-proc/call.ts'
import type { Phase } from '../encode-reply.ts'
import type { BodyChunk, BodyStream, ExtProcReply } from '../types.ts'
import { createSignal } from './signal.ts'

/** The call, as one body in it needs it. */
export interface BodyCall {
  /** False: the queue is full; it is notified of room. */
  send(reply: ExtProcReply, phase: Phase): boolean
  /** Stops what Envoy sends, until `resume`. */
  pause(): void
  resume(): void
}

/** Makes the parts of a call for two bodies: it is paused while one of them is. */
export const shareCall = (call: Pick<Call, 'pause' | 'resume'>, send: BodyCall['send']): (() => BodyCall) => {
  let pauses = 0
  return () => {
    let isPaused = false
    return {
      send,
      pause() {
        if (!isPaused && ++pauses === 1) call.pause()
        isPaused = true
      },
      resume() {
        if (isPaused && --pauses === 0) call.resume()
        isPaused = false
      },
    }
  }
}

/** Envoy's side. */
export interface BodyStreamInput {
  readonly flow: BodyStream
  /** A piece of the body. */
  push(bytes: Buffer, isLast: boolean): void
  /** The body has ended with trailers. */
  pushTrailers(): void
  /** The sent bytes have been read. */
  drained(): void
  /** The last reply has been sent. */
  isDone(): boolean
  /** The stream is gone. */
  giveUp(): void
}

/** About how many bytes are read at once; and how many may wait for that. */
const PORTION = 262_144

const gone = () => new AppError('gateway_timeout', 'The caller disconnected before its body was complete.')

export const createBodyStream = (call: BodyCall): BodyStreamInput => {
  let chunks: Buffer[] = []
  let size = 0
  let isLast = false
  let hasTrailers = false
  let hasPieces = false
  let full = false
  let over = false
  let done = false
  const more = createSignal()
  const room = createSignal()

  const arrived = (): BodyChunk => {
    const portion = {
      bytes: chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size),
      isLast,
    }
    chunks = []
    size = 0
    call.resume()
    return portion
  }
  const send = (response: ExtProcReply): void => {
    if (over) throw gone()
    full = !call.send(response, response.kind === 'continue' ? 'request_headers' : 'request_body')
    done ||=
      response.kind === 'immediateResponse' ||
      response.kind === 'trailers' ||
      (response.kind === 'streamed' && response.isLast)
  }

  return {
    flow: {
      async read(ms) {
        if (over) throw gone()
        if (size === 0 && !isLast) {
          await more.wait(ms)
          if (size === 0 && !isLast) return undefined
        }
        return arrived()
      },
      async write(response, ms) {
        send(response)
        if (full) await room.wait(ms)
      },
      async end(bytes) {
        // After trailers without a body, Envoy expects the reply to the trailers only.
        const isEmpty = hasTrailers && !hasPieces && bytes.length === 0
        if (!isEmpty) send({ kind: 'streamed', body: bytes, isLast: !hasTrailers })
        if (hasTrailers) send({ kind: 'trailers' })
      },
    },
    push(bytes, last) {
      if (done) return
      hasPieces = true
      chunks.push(bytes)
      size += bytes.length
      isLast = last
      if (size >= PORTION) call.pause()
      more.wake()
    },
    pushTrailers() {
      isLast = true
      hasTrailers = true
      more.wake()
    },
    drained() {
      full = false
      room.wake()
    },
    isDone: () => done,
    giveUp() {
      over = true
      chunks = []
      more.fail(gone)
      room.fail(gone)
    },
  }
}
