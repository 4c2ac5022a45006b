/**
 * A guarded response, received and sent in pieces (types.ts, `ResponseFlow`). After some replies Envoy would pass the
 * rest of the body unscanned, and it would look complete: an end or trailers before they came, a body before its
 * headers. They cannot be sent from here (envoy/README.md, "Guarded responses").
 */
import { AppError } from '../../common/errors.ts'
import type { Head } from '../headers.ts'
import type { ExtProcReply, GuardedOverride, ResponseFlow } from '../types.ts'
import type { BodyCall } from './body-buffer.ts'
import { createSignal } from './signal.ts'

/** Envoy's side. `begin` and the two `push…` return false when the message is unexpected. */
export interface ResponseInput {
  readonly flow: ResponseFlow
  begin(endOfStream: boolean): boolean
  push(bytes: Buffer, isLast: boolean): boolean
  pushTrailers(head: Head): boolean
  /** The sent bytes have been read. */
  drained(): void
  /** The headers of the response have come. */
  isSeen(): boolean
  /** The last reply has been sent. */
  isDone(): boolean
  /** The stream is gone. */
  giveUp(): void
}

/** Unread bytes from which on Envoy is paused; its window bounds what is in flight. */
const UNREAD = 65_536
/** Bytes that are sent together, at most. */
const PIECE = 65_536

const gone = () =>
  new AppError('gateway_timeout', 'The caller disconnected before its response was complete.')

/** `abort` resets the call. */
export const createResponseFlow = (
  call: BodyCall,
  mode: GuardedOverride,
  abort: () => void,
): ResponseInput => {
  let chunks: Buffer[] = []
  let size = 0
  let trailers: Head | undefined
  let seen = false
  let hasBody = true
  /** The last message of the destination has come. */
  let ended = false
  let hasHead = false
  let done = false
  let full = false
  let over = false
  const more = createSignal()
  const room = createSignal()

  const send = async (reply: ExtProcReply, isLast = false): Promise<void> => {
    if (over) throw gone()
    if (done) throw new Error('a response continues after its end')
    done = isLast
    const isOfHead = reply.kind === 'guardedHead' || reply.kind === 'immediateResponse'
    full = !call.send(reply, isOfHead ? 'response_headers' : 'response_body')
    if (full && !isLast) await room.wait()
  }
  const sendPieces = async (bytes: Buffer): Promise<void> => {
    if (!hasHead || !hasBody) throw new Error('a body is sent before headers, or for a response without one')
    for (let at = 0; at < bytes.length; at += PIECE)
      await send({ kind: 'streamed', body: bytes.subarray(at, at + PIECE), isLast: false })
  }

  return {
    flow: {
      async read(ms) {
        if (over) throw gone()
        if (size === 0 && !ended) {
          await more.wait(ms)
          if (size === 0 && !ended) return undefined
        }
        const all = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size)
        const bytes = all.subarray(0, UNREAD)
        const rest = all.subarray(UNREAD)
        chunks = rest.length > 0 ? [rest] : []
        size = rest.length
        if (size < UNREAD) call.resume()
        const isLast = ended && size === 0
        return { bytes, isLast, ...(isLast && trailers && { trailers }) }
      },
      async head(edits) {
        if (hasHead) throw new Error('the headers of a response are sent twice')
        hasHead = true
        await send({ kind: 'guardedHead', edits }, !hasBody)
      },
      write: sendPieces,
      async end(bytes, edits) {
        if (!hasBody && bytes.length === 0) return
        if (!ended || size > 0) throw new Error('a response ends before all of it was read')
        const last = trailers === undefined ? Math.max(0, bytes.length - PIECE) : bytes.length
        await sendPieces(bytes.subarray(0, last))
        if (trailers !== undefined) await send({ kind: 'trailers', edits }, true)
        else await send({ kind: 'streamed', body: bytes.subarray(last), isLast: true }, true)
      },
      async immediate(reply) {
        if (hasHead) throw new Error('a response is replaced after its headers')
        await send(reply, true)
      },
      abort,
    },
    begin(endOfStream) {
      if (seen) return false
      seen = true
      hasBody = mode === 'guardedResponse' && !endOfStream
      ended = !hasBody
      return true
    },
    push(bytes, isLast) {
      if (!seen || ended) return false
      ended = isLast
      if (done) return true
      chunks.push(bytes)
      size += bytes.length
      if (size >= UNREAD) call.pause()
      more.wake()
      return true
    },
    pushTrailers(head) {
      // The body has passed by, and so do its trailers.
      if (mode === 'guardedHeaders' && done) {
        call.send({ kind: 'trailers' }, 'response_body')
        return true
      }
      if (!seen || ended) return false
      trailers = head
      ended = true
      more.wake()
      return true
    },
    drained() {
      full = false
      room.wake()
    },
    isSeen: () => seen,
    isDone: () => done,
    giveUp() {
      over = true
      chunks = []
      more.fail(gone)
      room.fail(gone)
    },
  }
}
