/** HTTP/2 frames (RFC 9113 §4, §6) as bytes; connection.ts interprets them. */

export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  resetStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const

export const FLAG = { ack: 0x1, endStream: 0x1, endHeaders: 0x4, padded: 0x8 } as const

export const SETTING = { maxConcurrentStreams: 3, initialWindowSize: 4 } as const

/** Error codes (RFC 9113 §7). */
export const CODE = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  frameSize: 6,
  rejectedStream: 7,
  enhanceYourCalm: 11,
} as const

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

const HEADER_BYTES = 9
/** Default SETTINGS_MAX_FRAME_SIZE, which we never change. */
export const MAX_PAYLOAD = 16_384
export const MAX_WINDOW = 0x7fff_ffff
/** Initial flow-control window of a connection, and of a stream without SETTINGS. */
export const FIRST_WINDOW = 65_535
/** Receive window of a stream, here and in Envoy: about what each holds of a guarded response for a slow reader. */
export const STREAM_WINDOW = 262_144
export const CONNECTION_WINDOW = 16_777_216

/** An error that ends the connection. `code` is sent in GOAWAY. */
export class ConnectionError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.name = 'ConnectionError'
    this.code = code
  }
}

const writeHeader = (bytes: Buffer, length: number, type: number, flags: number, stream: number): void => {
  bytes.writeUIntBE(length, 0, 3)
  bytes[3] = type
  bytes[4] = flags
  bytes.writeUInt32BE(stream, 5)
}

/** The header of a frame. */
export const frameHeader = (length: number, type: number, flags: number, stream: number): Buffer => {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES)
  writeHeader(bytes, length, type, flags, stream)
  return bytes
}

export const frame = (type: number, flags: number, stream: number, payload: Uint8Array): Buffer => {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + payload.length)
  writeHeader(bytes, payload.length, type, flags, stream)
  bytes.set(payload, HEADER_BYTES)
  return bytes
}

const uint32 = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.allocUnsafe(values.length * 4)
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4)
  return bytes
}

export const settingsFrame = (settings: readonly (readonly [number, number])[]): Buffer => {
  const payload = Buffer.allocUnsafe(settings.length * 6)
  for (const [index, [setting, value]] of settings.entries()) {
    payload.writeUInt16BE(setting, index * 6)
    payload.writeUInt32BE(value, index * 6 + 2)
  }
  return frame(FRAME.settings, 0, 0, payload)
}

export const windowUpdateFrame = (stream: number, bytes: number): Buffer =>
  frame(FRAME.windowUpdate, 0, stream, uint32(bytes))

export const resetStreamFrame = (stream: number, code: number): Buffer =>
  frame(FRAME.resetStream, 0, stream, uint32(code))

export const goAwayFrame = (lastStream: number, code: number): Buffer =>
  frame(FRAME.goAway, 0, 0, uint32(lastStream, code))

/** `payload` is a view of the received chunk and retains it. */
type OnFrame = (type: number, flags: number, stream: number, payload: Buffer) => void

/**
 * Splits received bytes into frames. `push` calls back for each complete one. Throws ConnectionError when the
 * bytes do not begin with the preface or announce a frame larger than MAX_PAYLOAD.
 */
const NOTHING = Buffer.alloc(0)

export const createFrameReader = (onFrame: OnFrame): { push(chunk: Buffer): void } => {
  let rest: Buffer = Buffer.alloc(0)
  let greeted = false

  /** Emits complete frames and returns the rest. */
  const take = (bytes: Buffer): Buffer => {
    let at = 0
    if (!greeted) {
      const length = Math.min(bytes.length, PREFACE.length)
      if (bytes.compare(PREFACE, 0, length, 0, length) !== 0)
        throw new ConnectionError(CODE.protocol, 'not an HTTP/2 preface')
      if (length < PREFACE.length) return bytes
      greeted = true
      at = PREFACE.length
    }
    while (bytes.length - at >= HEADER_BYTES) {
      const length = bytes.readUIntBE(at, 3)
      if (length > MAX_PAYLOAD) throw new ConnectionError(CODE.frameSize, 'a frame is too large')
      const end = at + HEADER_BYTES + length
      if (end > bytes.length) break
      onFrame(
        bytes[at + 3] as number,
        bytes[at + 4] as number,
        bytes.readUInt32BE(at + 5) & MAX_WINDOW,
        bytes.subarray(at + HEADER_BYTES, end),
      )
      at = end
    }
    return at === bytes.length ? NOTHING : bytes.subarray(at)
  }

  /** Bytes of the frame that `rest` starts, as far as known. */
  const wanted = (): number => {
    if (!greeted) return PREFACE.length
    return rest.length < HEADER_BYTES ? HEADER_BYTES : HEADER_BYTES + rest.readUIntBE(0, 3)
  }

  return {
    push(chunk) {
      let at = 0
      // A large body arrives in many chunks, each starting inside a frame: only that frame is concatenated.
      while (rest.length > 0 && at < chunk.length) {
        const piece = chunk.subarray(at, at + wanted() - rest.length)
        at += piece.length
        rest = take(Buffer.concat([rest, piece]))
      }
      if (at < chunk.length) rest = take(at === 0 ? chunk : chunk.subarray(at))
    },
  }
}
