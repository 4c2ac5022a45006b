/** The content coding of a response, removed while its body comes (RFC 9110 §8.4.1). */
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'
import type { codingsOf } from '../../common/decode-content.ts'

export type Coding = NonNullable<ReturnType<typeof codingsOf>>[number]
type Inflating = ReturnType<typeof createGunzip> | ReturnType<typeof createBrotliDecompress>

/** Beyond these bytes a body is at most so many times as large as what came: Envoy holds what a slow caller leaves. */
const FREE_BYTES = 1024 * 1024
const MAX_RATIO = 32

/** A body that is not what its coding says, or is too large for what came of it. */
export class UnreadableBody extends Error {}

/** Two bytes tell a zlib header (RFC 1950 §2.2) from none, which some senders omit. */
const inflater = (coding: Coding, first: Buffer): Inflating => {
  if (coding === 'gzip') return createGunzip()
  if (coding === 'br') return createBrotliDecompress()
  const hasHeader = ((first[0] ?? 0) & 0x0f) === 8 && (((first[0] ?? 0) << 8) | (first[1] ?? 0)) % 31 === 0
  return hasHeader ? createInflate() : createInflateRaw()
}

/** Decodes a body in pieces. All methods reject with `UnreadableBody`. */
export class Decoder {
  readonly #coding: Coding
  #stream: Inflating | undefined
  #first: Buffer = Buffer.alloc(0)
  #decoded: Buffer[] = []
  #came = 0
  #made = 0
  #failed: UnreadableBody | undefined

  constructor(coding: Coding) {
    this.#coding = coding
  }

  async write(bytes: Buffer): Promise<Buffer> {
    this.#came += bytes.length
    if (this.#stream === undefined) {
      this.#first = Buffer.concat([this.#first, bytes])
      if (this.#first.length < 2) return Buffer.alloc(0)
    }
    const input = this.#stream === undefined ? this.#first : bytes
    const stream = this.#open()
    await new Promise<void>((resolve) => {
      stream.once('close', resolve)
      stream.write(input, () => {
        stream.off('close', resolve)
        resolve()
      })
    })
    return this.#take()
  }

  /** The rest, when the body is complete. */
  async end(): Promise<Buffer> {
    if (this.#stream === undefined && this.#first.length === 0) return this.#first
    const wasOpen = this.#stream !== undefined
    const stream = this.#open()
    if (!wasOpen) stream.write(this.#first)
    await new Promise<void>((resolve) => {
      stream.once('close', () => resolve())
      stream.end()
    })
    return this.#take()
  }

  close(): void {
    this.#stream?.destroy()
  }

  #open(): Inflating {
    if (this.#stream !== undefined) return this.#stream
    const stream = inflater(this.#coding, this.#first)
    stream.on('data', (piece: Buffer) => {
      this.#made += piece.length
      this.#decoded.push(piece)
      if (this.#made > FREE_BYTES && this.#made > MAX_RATIO * this.#came)
        stream.destroy(new UnreadableBody('the body expands too much'))
    })
    stream.on('error', (cause) => {
      this.#failed =
        cause instanceof UnreadableBody ? cause : new UnreadableBody('the body is not valid', { cause })
    })
    this.#stream = stream
    return stream
  }

  #take(): Buffer {
    if (this.#failed !== undefined) throw this.#failed
    const decoded = Buffer.concat(this.#decoded)
    this.#decoded = []
    return decoded
  }
}
