/** gRPC over HTTP/2: length-prefixed messages, and the only header blocks that a server of one method sends. */

/** Flag byte and length before each message. */
export const PREFIX_BYTES = 5

/** One header field, neither indexed nor Huffman-coded (RFC 7541 §6.2.2); texts below 127 bytes. */
const literal = (name: string, value: string): Buffer =>
  Buffer.from(`\0${String.fromCharCode(name.length)}${name}${String.fromCharCode(value.length)}${value}`)

/** `:status: 200` (entry 8 of the static table) and the content type. */
export const RESPONSE_HEADERS = Buffer.concat([Buffer.of(0x88), literal('content-type', 'application/grpc')])

export const OK_TRAILERS = literal('grpc-status', '0')

/** Assembles the messages of one stream. */
export class MessageReader {
  readonly #limit: number
  readonly #onMessage: (message: Buffer) => void
  #chunks: Buffer[] | undefined
  #held = 0

  /** `limit`: bytes of one message. */
  constructor(limit: number, onMessage: (message: Buffer) => void) {
    this.#limit = limit
    this.#onMessage = onMessage
  }

  /** True between messages. */
  get idle(): boolean {
    return this.#held === 0
  }

  /** Calls back for each complete message. False when a message is compressed or too long: nothing more is read. */
  push(data: Buffer): boolean {
    const chunks = this.#chunks
    if (chunks !== undefined) {
      chunks.push(data)
      this.#held += data.length
      // Large bodies arrive in many frames: they are concatenated once.
      if (this.#held < wanted(chunks[0] as Buffer)) return true
    }
    const rest = this.#take(chunks === undefined ? data : Buffer.concat(chunks, this.#held))
    if (rest === undefined) return false
    this.#chunks = rest.length > 0 ? [rest] : undefined
    this.#held = rest.length
    return true
  }

  #take(bytes: Buffer): Buffer | undefined {
    let at = 0
    while (bytes.length - at >= PREFIX_BYTES) {
      const length = bytes.readUInt32BE(at + 1)
      if (bytes[at] !== 0 || length > this.#limit) return undefined
      const end = at + PREFIX_BYTES + length
      if (end > bytes.length) break
      this.#onMessage(bytes.subarray(at + PREFIX_BYTES, end))
      at = end
    }
    return at === bytes.length ? NOTHING : bytes.subarray(at)
  }
}

const NOTHING = Buffer.alloc(0)

/** Bytes until the current message is complete, its prefix included. */
const wanted = (first: Buffer): number =>
  first.length < PREFIX_BYTES ? PREFIX_BYTES : PREFIX_BYTES + first.readUInt32BE(1)
