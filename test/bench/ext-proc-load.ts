/** Calls of a gateway process on its ext_proc socket, as Envoy makes them, without Envoy. */
import { once } from 'node:events'
import { connect } from 'node:net'
import {
  FLAG,
  FRAME,
  frame,
  resetStreamFrame,
  SETTING,
  settingsFrame,
  windowUpdateFrame,
} from '../../src/ext-proc/frames.ts'

/** A call's two messages, and bytes that the reply to the second must hold. */
export interface ExtProcCall {
  readonly head: Buffer
  readonly body: Buffer
  readonly expected: Buffer
}

interface ExtProcLoadOptions {
  readonly socketPath: string
  /** Taken in turn. */
  readonly calls: readonly ExtProcCall[]
  readonly concurrency: number
  readonly seconds: number
  /** Calls after which it ends earlier. */
  readonly most?: number
}

interface ExtProcLoadResult {
  readonly calls: number
  readonly failures: number
  readonly seconds: number
}

const FRAME_HEADER = 9
const MESSAGE_PREFIX = 5
const CANCEL = 8
const WINDOW = 2 ** 30

/** `:method: POST` by its index in the static table. The gateway skips header blocks. */
const HEADER_BLOCK = Buffer.of(0x83)

const message = (id: number, bytes: Buffer): Buffer => {
  const prefix = Buffer.alloc(MESSAGE_PREFIX)
  prefix.writeUInt32BE(bytes.length, 1)
  return frame(FRAME.data, 0, id, Buffer.concat([prefix, bytes]))
}

interface OpenCall {
  readonly call: ExtProcCall
  replies: number
  received: Buffer
}

/**
 * Closed loop on one connection: headers, their reply, the body, its reply, then end and reset of the stream, which is
 * how Envoy ends one.
 */
export const extProcLoad = async (options: ExtProcLoadOptions): Promise<ExtProcLoadResult> => {
  const { calls, concurrency, seconds, most = Number.POSITIVE_INFINITY } = options
  const socket = connect(options.socketPath)
  await once(socket, 'connect')
  const open = new Map<number, OpenCall>()
  const start = performance.now()
  const until = start + seconds * 1000
  const ended = Promise.withResolvers<void>()
  let out: Buffer[] = []
  let rest: Buffer = Buffer.alloc(0)
  let nextId = 1
  let started = 0
  let done = 0
  let failures = 0
  let unacknowledged = 0

  const begin = (): void => {
    const call = calls[started % calls.length]
    if (call === undefined || started >= most || performance.now() >= until) return
    started++
    open.set(nextId, { call, replies: 0, received: Buffer.alloc(0) })
    out.push(frame(FRAME.headers, FLAG.endHeaders, nextId, HEADER_BLOCK), message(nextId, call.head))
    nextId += 2
  }

  const end = (id: number, succeeded: boolean): void => {
    open.delete(id)
    done++
    if (!succeeded) failures++
    begin()
    if (open.size === 0) ended.resolve()
  }

  const receive = (id: number, payload: Buffer): void => {
    const stream = open.get(id)
    if (stream === undefined) return
    stream.received = stream.received.length === 0 ? payload : Buffer.concat([stream.received, payload])
    const length = stream.received.length < MESSAGE_PREFIX ? Infinity : stream.received.readUInt32BE(1)
    if (stream.received.length < MESSAGE_PREFIX + length) return
    stream.replies++
    if (stream.replies === 1) {
      stream.received = Buffer.alloc(0)
      out.push(message(id, stream.call.body))
      return
    }
    out.push(frame(FRAME.data, FLAG.endStream, id, Buffer.alloc(0)), resetStreamFrame(id, CANCEL))
    end(id, stream.received.includes(stream.call.expected))
  }

  const take = (type: number, flags: number, id: number, payload: Buffer): void => {
    if (type === FRAME.data) {
      unacknowledged += payload.length
      receive(id, payload)
    } else if (type === FRAME.settings && (flags & FLAG.ack) === 0)
      out.push(frame(FRAME.settings, FLAG.ack, 0, Buffer.alloc(0)))
    else if (type === FRAME.resetStream && open.has(id)) end(id, false)
  }

  const flush = (): void => {
    if (unacknowledged > WINDOW / 2) {
      out.push(windowUpdateFrame(0, unacknowledged))
      unacknowledged = 0
    }
    if (out.length > 0) socket.write(Buffer.concat(out))
    out = []
  }

  socket.on('data', (chunk: Buffer) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    while (rest.length >= FRAME_HEADER) {
      const size = FRAME_HEADER + rest.readUIntBE(0, 3)
      if (rest.length < size) break
      take(rest[3] as number, rest[4] as number, rest.readUInt32BE(5), rest.subarray(FRAME_HEADER, size))
      rest = rest.subarray(size)
    }
    flush()
  })
  socket.on('error', ended.reject)
  socket.on('close', () => ended.reject(new Error('the gateway closed the connection')))

  out.push(
    // RFC 9113 §3.4.
    Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    settingsFrame([[SETTING.initialWindowSize, WINDOW]]),
    windowUpdateFrame(0, WINDOW),
  )
  for (let i = 0; i < concurrency; i++) begin()
  flush()
  await ended.promise
  socket.destroy()
  return { calls: done, failures, seconds: (performance.now() - start) / 1000 }
}
