/** gRPC over HTTP/2: length-prefixed messages, and the only header blocks that a server of one method sends. */

/** Flag byte and length before each message. */
export const PREFIX_BYTES = 5

/** One header field, neither indexed nor Huffman-coded (RFC 7541 §6.2.2); texts below 127 bytes. */
const literal = (name: string, value: string): Buffer =>
  Buffer.from(`\0${String.fromCharCode(name.length)}${name}${String.fromCharCode(value.length)}${value}`)

/** `:status: 200` (entry 8 of the static table) and the content type. */
export const RESPONSE_HEADERS = Buffer.concat([Buffer.of(0x88), literal('content-type', 'application/grpc')])

export const OK_TRAILERS = literal('grpc-status', '0')

export interface MessageReader {
  /** Calls back for each complete message. False when a message is compressed or too long: nothing more is read. */
  push(data: Buffer): boolean
  /** True between messages. */
  readonly idle: boolean
}

/** Assembles the messages of one stream. `limit`: bytes of one message. */
export const createMessageReader = (limit: number, onMessage: (message: Buffer) => void): MessageReader => {
  let chunks: Buffer[] = []
  let held = 0

  const take = (bytes: Buffer): Buffer | undefined => {
    let rest = bytes
    while (rest.length >= PREFIX_BYTES) {
      const length = rest.readUInt32BE(1)
      if (rest[0] !== 0 || length > limit) return undefined
      if (rest.length < PREFIX_BYTES + length) break
      onMessage(rest.subarray(PREFIX_BYTES, PREFIX_BYTES + length))
      rest = rest.subarray(PREFIX_BYTES + length)
    }
    return rest
  }

  /** Bytes until the current message is complete, its prefix included. */
  const wanted = (first: Buffer): number =>
    first.length < PREFIX_BYTES ? PREFIX_BYTES : PREFIX_BYTES + first.readUInt32BE(1)

  return {
    push(data) {
      if (held > 0) {
        chunks.push(data)
        held += data.length
        // Large bodies arrive in many frames: they are concatenated once.
        if (held < wanted(chunks[0] as Buffer)) return true
      }
      const rest = take(held > 0 ? Buffer.concat(chunks, held) : data)
      if (rest === undefined) return false
      chunks = rest.length > 0 ? [rest] : []
      held = rest.length
      return true
    },
    get idle() {
      return held === 0
    },
  }
}
