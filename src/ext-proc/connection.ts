/**
 * The server's side of an HTTP/2 connection (RFC 9113) on which every stream is a call of one gRPC method.
 *
 * Written for one peer, Envoy, on a private socket, because the general libraries cost more than the gateway's own work
 * (docs/adr/0022-the-gateway-has-its-own-http-2-and-protobuf-code.md). Header blocks are skipped, not decoded: there
 * is one method, so that no header matters, and HPACK state is not used otherwise.
 */
import type { Duplex } from 'node:stream'
import { type Call, type CallHandler, type Carrier, HttpCall } from './call.ts'
import {
  CODE,
  CONNECTION_WINDOW,
  ConnectionError,
  createFrameReader,
  FIRST_WINDOW,
  FLAG,
  FRAME,
  frame,
  goAwayFrame,
  MAX_WINDOW,
  resetStreamFrame,
  SETTING,
  STREAM_WINDOW,
  settingsFrame,
  windowUpdateFrame,
} from './frames.ts'
import { createOutput, type Output } from './output.ts'

export interface ConnectionLimits {
  /** Bytes of one message from the peer. */
  readonly messageBytes: number
  /** Most concurrent calls; more are reset with REFUSED_STREAM. */
  readonly calls: number
}

export interface Connection {
  /** Sends GOAWAY, accepts no new calls, and closes when open calls have ended. */
  drain(): void
  /** Closes at once; open calls are lost. */
  destroy(): void
}

/** Unread output bytes at which the connection is closed. */
const UNREAD = 67_108_864
const HEADER_BLOCK = 65_536
const NOTHING = Buffer.alloc(0)
const PING = Buffer.alloc(8)

class Http2Connection implements Connection, Carrier {
  /** Send window of the connection, bytes. */
  window = FIRST_WINDOW
  readonly #socket: Duplex
  readonly #accept: (call: Call) => CallHandler
  readonly #limits: ConnectionLimits
  readonly #output: Output
  readonly #calls = new Map<number, HttpCall>()
  #callWindow = FIRST_WINDOW
  /** Bytes received since the last window update. */
  #received = 0
  #greeted = false
  #lastId = 0
  /**
   * Calls that the peer half-closed. They are notified after the complete chunk is read: a peer that ends a call and
   * resets it at once, as Envoy does, would count trailers for it as a protocol error.
   */
  readonly #ended: HttpCall[] = []
  /** The header block being received. */
  #block: { readonly id: number; readonly isLast: boolean; bytes: number } | undefined
  #draining: 'no' | 'announced' | 'known' = 'no'
  #destroyed = false

  constructor(socket: Duplex, accept: (call: Call) => CallHandler, limits: ConnectionLimits) {
    this.#socket = socket
    this.#accept = accept
    this.#limits = limits
    this.#output = createOutput(socket)
    const reader = createFrameReader((type, flags, id, payload) => this.#take(type, flags, id, payload))
    socket.on('data', (chunk: Buffer) => {
      if (this.#destroyed) return
      try {
        reader.push(chunk)
        for (const call of this.#ended.splice(0)) call.endByPeer()
        if (socket.writableLength > UNREAD) throw new ConnectionError(CODE.enhanceYourCalm, 'nothing is read')
      } catch (error) {
        this.#fail(error)
      }
    })
    for (const event of ['end', 'error', 'close']) socket.on(event, () => this.destroy())
    this.write(
      settingsFrame([
        [SETTING.maxConcurrentStreams, limits.calls],
        [SETTING.initialWindowSize, STREAM_WINDOW],
      ]),
    )
    this.write(windowUpdateFrame(0, CONNECTION_WINDOW - FIRST_WINDOW))
  }

  write(bytes: Buffer): void {
    if (!this.#destroyed) this.#output.write(bytes)
  }

  forget(id: number): void {
    this.#calls.delete(id)
    this.#closeWhenDrained()
  }

  drain(): void {
    if (this.#destroyed || this.#draining !== 'no') return
    this.#draining = 'announced'
    // Calls that are in flight are still accepted; after the PING ACK none follows (RFC 9113 §6.8).
    this.write(goAwayFrame(MAX_WINDOW, CODE.none))
    this.write(frame(FRAME.ping, 0, 0, PING))
  }

  destroy(): void {
    if (this.#destroyed) return
    this.#destroyed = true
    this.#socket.destroy()
    for (const call of [...this.#calls.values()]) call.lose()
  }

  #closeWhenDrained(): void {
    if (this.#draining !== 'known' || this.#calls.size > 0 || this.#destroyed) return
    this.#output.flush()
    this.#socket.end()
  }

  #fail(error: unknown): void {
    this.write(goAwayFrame(this.#lastId, error instanceof ConnectionError ? error.code : CODE.internal))
    this.#output.flush()
    this.destroy()
  }

  #take(type: number, flags: number, id: number, payload: Buffer): void {
    if (this.#destroyed) return
    if (!this.#greeted && type !== FRAME.settings)
      throw new ConnectionError(CODE.protocol, 'the first frame is not SETTINGS')
    if (this.#block !== undefined && (type !== FRAME.continuation || id !== this.#block.id))
      throw new ConnectionError(CODE.protocol, 'a header block is interrupted')
    if (type === FRAME.data) this.#data(flags, id, payload)
    else if (type === FRAME.headers) this.#headers(flags, id, payload)
    else if (type === FRAME.continuation) this.#continuation(flags, payload)
    else if (type === FRAME.resetStream) this.#resetStream(id, payload)
    else if (type === FRAME.settings) this.#settings(flags, id, payload)
    else if (type === FRAME.ping) this.#ping(flags, id, payload)
    else if (type === FRAME.windowUpdate) this.#windowUpdate(id, payload)
    else if (type === FRAME.pushPromise) throw new ConnectionError(CODE.protocol, 'a client cannot push')
    // GOAWAY: the peer will close. PRIORITY and unknown frames are ignored.
  }

  #headers(flags: number, id: number, payload: Buffer): void {
    if (id % 2 === 0) throw new ConnectionError(CODE.protocol, 'not a stream of a client')
    this.#block = { id, isLast: (flags & FLAG.endStream) !== 0, bytes: 0 }
    this.#continuation(flags, payload)
  }

  #continuation(flags: number, payload: Buffer): void {
    const block = this.#block
    if (block === undefined) throw new ConnectionError(CODE.protocol, 'a continuation of nothing')
    block.bytes += payload.length
    if (block.bytes > HEADER_BLOCK) throw new ConnectionError(CODE.enhanceYourCalm, 'headers are too large')
    if ((flags & FLAG.endHeaders) === 0) return
    this.#block = undefined
    // An id that is not new: trailers, or a call that was reset concurrently.
    if (block.id > this.#lastId) this.#begin(block.id)
    if (block.isLast) this.#end(block.id)
  }

  #begin(id: number): void {
    this.#lastId = id
    if (this.#calls.size >= this.#limits.calls || this.#draining === 'known')
      this.write(resetStreamFrame(id, CODE.rejectedStream))
    else
      this.#calls.set(
        id,
        new HttpCall(id, this, this.#accept, {
          messageBytes: this.#limits.messageBytes,
          window: this.#callWindow,
        }),
      )
  }

  #data(flags: number, id: number, payload: Buffer): void {
    this.#checkStarted(id)
    const size = payload.length
    this.#received += size
    if (this.#received > CONNECTION_WINDOW / 2) {
      this.write(windowUpdateFrame(0, this.#received))
      this.#received = 0
    }
    const data = (flags & FLAG.padded) === 0 ? payload : withoutPadding(payload)
    const isLast = (flags & FLAG.endStream) !== 0
    this.#calls.get(id)?.receive(data, size, isLast)
    if (isLast) this.#end(id)
  }

  #end(id: number): void {
    const call = this.#calls.get(id)
    if (call !== undefined) this.#ended.push(call)
  }

  #resetStream(id: number, payload: Buffer): void {
    if (payload.length !== 4) throw new ConnectionError(CODE.frameSize, 'not a reset')
    this.#checkStarted(id)
    this.#calls.get(id)?.lose()
  }

  #settings(flags: number, id: number, payload: Buffer): void {
    const isAck = (flags & FLAG.ack) !== 0
    if (id !== 0) throw new ConnectionError(CODE.protocol, 'settings of a stream')
    if (isAck ? payload.length > 0 : payload.length % 6 !== 0)
      throw new ConnectionError(CODE.frameSize, 'not settings')
    this.#greeted = true
    if (isAck) return
    for (let at = 0; at < payload.length; at += 6)
      if (payload.readUInt16BE(at) === SETTING.initialWindowSize) this.#resize(payload.readUInt32BE(at + 2))
    this.write(frame(FRAME.settings, FLAG.ack, 0, NOTHING))
  }

  /** Changes the window of all calls, open ones included (RFC 9113 §6.9.2). */
  #resize(size: number): void {
    if (size > MAX_WINDOW) throw new ConnectionError(CODE.flowControl, 'a window is too large')
    const change = size - this.#callWindow
    this.#callWindow = size
    for (const call of this.#calls.values()) call.allow(change)
  }

  #ping(flags: number, id: number, payload: Buffer): void {
    if (id !== 0) throw new ConnectionError(CODE.protocol, 'a ping of a stream')
    if (payload.length !== PING.length) throw new ConnectionError(CODE.frameSize, 'not a ping')
    if ((flags & FLAG.ack) === 0) this.write(frame(FRAME.ping, FLAG.ack, 0, payload))
    else if (this.#draining === 'announced') {
      this.#draining = 'known'
      this.write(goAwayFrame(this.#lastId, CODE.none))
      this.#closeWhenDrained()
    }
  }

  #windowUpdate(id: number, payload: Buffer): void {
    if (payload.length !== 4) throw new ConnectionError(CODE.frameSize, 'not a window update')
    const bytes = payload.readUInt32BE(0) & MAX_WINDOW
    if (bytes === 0) throw new ConnectionError(CODE.protocol, 'an empty window update')
    if (id !== 0) {
      this.#checkStarted(id)
      this.#calls.get(id)?.allow(bytes)
      return
    }
    this.window += bytes
    if (this.window > MAX_WINDOW) throw new ConnectionError(CODE.flowControl, 'a window is too large')
    for (const call of this.#calls.values()) call.sendQueued()
  }

  #checkStarted(id: number): void {
    if (id > this.#lastId || id % 2 === 0) throw new ConnectionError(CODE.protocol, 'a stream not opened')
  }
}

const withoutPadding = (payload: Buffer): Buffer => {
  const padding = payload[0]
  if (padding === undefined || padding >= payload.length)
    throw new ConnectionError(CODE.protocol, 'padding is longer than its frame')
  return payload.subarray(1, payload.length - padding)
}

/** Serves a connection until it closes. Calls `accept` for each new call. */
export const serveConnection = (
  socket: Duplex,
  accept: (call: Call) => CallHandler,
  limits: ConnectionLimits,
): Connection => new Http2Connection(socket, accept, limits)
