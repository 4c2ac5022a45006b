/** One call: an HTTP/2 stream with its flow control, and the gRPC messages on it. */
import {
  CODE,
  ConnectionError,
  FLAG,
  FRAME,
  frame,
  frameHeader,
  MAX_PAYLOAD,
  MAX_WINDOW,
  resetStreamFrame,
  STREAM_WINDOW,
  windowUpdateFrame,
} from './frames.ts'
import { MessageReader, OK_TRAILERS, PREFIX_BYTES, RESPONSE_HEADERS } from './grpc.ts'

const NOTHING = Buffer.alloc(0)

/** Queued bytes from which on `send` returns false. */
const MAX_QUEUED_BYTES = 65_536

/** Our side of a call. Methods do nothing after the call has ended. */
export interface Call {
  /**
   * Sends one message, in pieces that must not change any more. False: the queue is full; `drained`
   * follows.
   */
  send(...pieces: readonly Buffer[]): boolean
  /** Stops window updates, so that the peer sends at most the rest of its window, until `resume`. */
  pause(): void
  resume(): void
  /** Ends the call with status OK, after all queued messages. */
  end(): void
  /** Resets the call: the peer sees an error, never a clean end. */
  reset(): void
}

/** Events of the peer. None comes after `gone`, nor after our side ended the call. */
export interface CallHandler {
  message(message: Buffer): void
  /** The queue has room again. */
  drained?(): void
  /** The peer has half-closed the call. */
  end(): void
  /** The peer reset the call, or the connection is lost. */
  gone(): void
}

/** The part of a connection that a call uses. */
export interface Carrier {
  /** Bytes that the connection may still send. */
  window: number
  write(bytes: Buffer): void
  /** The call has ended. */
  forget(id: number): void
}

interface CallOptions {
  /** Bytes of one message from the peer. */
  readonly messageBytes: number
  /** Initial send window, bytes. */
  readonly window: number
}

export class HttpCall implements Call {
  readonly #id: number
  readonly #carrier: Carrier
  readonly #handler: CallHandler
  readonly #reader: MessageReader
  /** Bytes received since the last window update. */
  #received = 0
  /** Send window in bytes; below zero after the peer reduced it. */
  #window: number
  #queue: Buffer[] = []
  /** Index of the first queued piece. */
  #first = 0
  #queued = 0
  #full = false
  #paused = false
  #started = false
  #ending = false
  #over = false

  constructor(id: number, carrier: Carrier, accept: (call: Call) => CallHandler, options: CallOptions) {
    this.#id = id
    this.#carrier = carrier
    this.#window = options.window
    this.#reader = new MessageReader(options.messageBytes, (message) => {
      if (!this.#over) this.#handler.message(message)
    })
    this.#handler = accept(this)
  }

  send(...pieces: readonly Buffer[]): boolean {
    if (this.#over || this.#ending) return true
    let length = 0
    for (const piece of pieces) length += piece.length
    const prefix = Buffer.allocUnsafe(PREFIX_BYTES)
    prefix[0] = 0
    prefix.writeUInt32BE(length, 1)
    this.#queue.push(prefix, ...pieces)
    this.#queued += PREFIX_BYTES + length
    this.sendQueued()
    this.#full = this.#queued > MAX_QUEUED_BYTES
    return !this.#full
  }

  pause(): void {
    this.#paused = true
  }

  resume(): void {
    this.#paused = false
    this.#allowMore()
  }

  end(): void {
    if (this.#over) return
    this.#ending = true
    this.sendQueued()
  }

  reset(): void {
    if (this.#over) return
    this.#carrier.write(resetStreamFrame(this.#id, CODE.internal))
    this.#finish()
  }

  /** `size`: bytes of the frame, which flow control counts. */
  receive(data: Buffer, size: number, isLast: boolean): void {
    if (this.#over) return
    this.#received += size
    if (data.length > 0 && !this.#reader.push(data)) this.#breakOff()
    else if (!isLast) this.#allowMore()
  }

  endByPeer(): void {
    if (this.#over) return
    if (this.#reader.idle) this.#handler.end()
    else this.#breakOff()
  }

  /** The peer has reset the call, or the connection is lost. */
  lose(): void {
    if (this.#over) return
    this.#finish()
    this.#handler.gone()
  }

  /** The peer changed the send window. */
  allow(bytes: number): void {
    this.#window += bytes
    if (this.#window > MAX_WINDOW) throw new ConnectionError(CODE.flowControl, 'a window is too large')
    this.sendQueued()
  }

  /** Sends as much as both windows allow. */
  sendQueued(): void {
    if (this.#over) return
    while (this.#queued > 0 && this.#carrier.window > 0 && this.#window > 0)
      this.#sendData(Math.min(this.#queued, MAX_PAYLOAD, this.#carrier.window, this.#window))
    if (this.#full && this.#queued <= MAX_QUEUED_BYTES) {
      this.#full = false
      this.#handler.drained?.()
    }
    if (!this.#ending || this.#queued > 0) return
    this.#begin()
    this.#carrier.write(frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, this.#id, OK_TRAILERS))
    this.#finish()
  }

  /** One frame with the first `length` queued bytes. */
  #sendData(length: number): void {
    this.#begin()
    this.#carrier.write(frameHeader(length, FRAME.data, 0, this.#id))
    for (let left = length; left > 0; ) {
      const first = this.#queue[this.#first] as Buffer
      if (first.length > left) this.#queue[this.#first] = first.subarray(left)
      else this.#queue[this.#first++] = NOTHING
      const piece = first.length <= left ? first : first.subarray(0, left)
      left -= piece.length
      this.#carrier.write(piece)
    }
    // Not after each piece: what is left is moved, and may be much.
    if (this.#first > this.#queue.length / 2) {
      this.#queue.splice(0, this.#first)
      this.#first = 0
    }
    this.#queued -= length
    this.#window -= length
    this.#carrier.window -= length
  }

  #allowMore(): void {
    if (this.#over || this.#paused || this.#received <= STREAM_WINDOW / 2) return
    this.#carrier.write(windowUpdateFrame(this.#id, this.#received))
    this.#received = 0
  }

  #begin(): void {
    if (this.#started) return
    this.#started = true
    this.#carrier.write(frame(FRAME.headers, FLAG.endHeaders, this.#id, RESPONSE_HEADERS))
  }

  #breakOff(): void {
    if (this.#over) return
    this.reset()
    this.#handler.gone()
  }

  #finish(): void {
    this.#over = true
    this.#queue = []
    this.#queued = 0
    this.#carrier.forget(this.#id)
  }
}
