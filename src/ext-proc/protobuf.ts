/** The protobuf wire format, as far as messages.ts needs it: varints and length-delimited fields. */

const VARINT = 0
const FIXED64 = 1
const BYTES = 2
const FIXED32 = 5

/** Malformed protobuf. */
export class WireError extends Error {
  constructor() {
    super('not a protobuf message')
    this.name = 'WireError'
  }
}

/**
 * Reads the fields of one message in order: `next` moves to a field, then exactly one of the others reads or skips it.
 * All throw WireError on malformed input.
 */
export class Reader {
  readonly #bytes: Buffer
  #end: number
  #at: number
  #type = VARINT

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.#bytes = bytes
    this.#at = start
    this.#end = end
  }

  /** The next field's number; 0 at the end. */
  next(): number {
    if (this.#at >= this.#end) return 0
    const tag = this.#varint()
    const field = tag >>> 3
    this.#type = tag & 7
    if (field === 0) throw new WireError()
    return field
  }

  bool(): boolean {
    if (this.#type !== VARINT) throw new WireError()
    const start = this.#at
    this.#skipVarint()
    for (let at = start; at < this.#at; at++) if (((this.#bytes[at] as number) & 0x7f) !== 0) return true
    return false
  }

  uint32(): number {
    if (this.#type !== VARINT) throw new WireError()
    return this.#varint()
  }

  /** Exact up to 2^53. */
  uint64(): number {
    if (this.#type !== VARINT) throw new WireError()
    let value = 0
    for (let scale = 1, count = 0; count < 10; count++, scale *= 128) {
      const byte = this.#byte()
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
    }
    throw new WireError()
  }

  /** A view, not a copy. */
  bytes(): Buffer {
    const end = this.#delimited()
    const start = this.#at
    this.#at = end
    return this.#bytes.subarray(start, end)
  }

  /** Bytes one to one as characters. */
  latin1(): string {
    const end = this.#delimited()
    const text = this.#bytes.toString('latin1', this.#at, end)
    this.#at = end
    return text
  }

  /** Enters a field that is a message: `next` continues with its fields. Returns the argument of `leave`. */
  enter(): number {
    const outer = this.#end
    this.#end = this.#delimited()
    return outer
  }

  /** Leaves a message, behind its last byte. */
  leave(outer: number): void {
    this.#at = this.#end
    this.#end = outer
  }

  skip(): void {
    if (this.#type === BYTES) this.#at = this.#delimited()
    else if (this.#type === VARINT) this.#skipVarint()
    else if (this.#type === FIXED32) this.#advance(4)
    else if (this.#type === FIXED64) this.#advance(8)
    else throw new WireError()
  }

  /** Where the field's content ends. */
  #delimited(): number {
    if (this.#type !== BYTES) throw new WireError()
    const end = this.#varint() + this.#at
    if (end > this.#end) throw new WireError()
    return end
  }

  #advance(bytes: number): void {
    this.#at += bytes
    if (this.#at > this.#end) throw new WireError()
  }

  #byte(): number {
    if (this.#at >= this.#end) throw new WireError()
    return this.#bytes[this.#at++] as number
  }

  /** Tags and lengths: at most 32 bits. */
  #varint(): number {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.#byte()
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) {
        if (value > 0xffff_ffff) break
        return value
      }
    }
    throw new WireError()
  }

  #skipVarint(): void {
    for (let count = 0; count < 10; count++) if (this.#byte() < 0x80) return
    throw new WireError()
  }
}

/** Bytes from which on a value is not copied. */
const LARGE = 4_096

/**
 * Writes one message from its last byte to its first, so that a length is known when it is written. Fields are written
 * in reverse order, which matters to repeated ones only. Large values are not copied, and must not change any more.
 */
export class Writer {
  #bytes: Buffer
  #at: number
  /** Pieces behind `#bytes`. */
  #behind: readonly Buffer[] = []
  #sizeBehind = 0

  /** `room`: expected bytes, without large values. */
  constructor(room: number) {
    this.#bytes = Buffer.allocUnsafe(room)
    this.#at = room
  }

  /** Positive, at most 31 bits. */
  varint(field: number, value: number): void {
    this.#number(value)
    this.#number((field << 3) | VARINT)
  }

  bytes(field: number, value: Buffer): void {
    if (value.length < LARGE) {
      this.#reserve(value.length)
      this.#at -= value.length
      this.#bytes.set(value, this.#at)
    } else {
      this.#behind = [value, ...this.pieces()]
      this.#sizeBehind = this.#size() + value.length
      this.#bytes = this.#bytes.subarray(0, this.#at)
    }
    this.#close(field, value.length)
  }

  /** Fields that are encoded already, a few. */
  raw(fields: Buffer): void {
    this.#reserve(fields.length)
    this.#at -= fields.length
    this.#bytes.set(fields, this.#at)
  }

  /** Characters up to U+00FF as one byte each. */
  latin1(field: number, value: string): void {
    this.#reserve(value.length)
    this.#at -= value.length
    this.#bytes.write(value, this.#at, 'latin1')
    this.#close(field, value.length)
  }

  /** The end of a message, whose fields are written next. Returns the argument of `start`. */
  end(): number {
    return this.#size()
  }

  /** The start of a message that ended at `end`. */
  start(field: number, end: number): void {
    this.#close(field, this.#size() - end)
  }

  /** The message, piece by piece. */
  pieces(): readonly Buffer[] {
    return [this.#bytes.subarray(this.#at), ...this.#behind]
  }

  #size(): number {
    return this.#bytes.length - this.#at + this.#sizeBehind
  }

  #close(field: number, length: number): void {
    this.#number(length)
    this.#number((field << 3) | BYTES)
  }

  #number(value: number): void {
    let size = 1
    for (let rest = value >>> 7; rest > 0; rest >>>= 7) size++
    this.#reserve(size)
    this.#at -= size
    let at = this.#at
    let rest = value
    for (; rest > 0x7f; rest >>>= 7) this.#bytes[at++] = (rest & 0x7f) | 0x80
    this.#bytes[at] = rest
  }

  #reserve(size: number): void {
    if (size <= this.#at) return
    const written = this.#bytes.length - this.#at
    const bytes = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, written + size))
    this.#bytes.copy(bytes, bytes.length - written, this.#at)
    this.#at = bytes.length - written
    this.#bytes = bytes
  }
}
