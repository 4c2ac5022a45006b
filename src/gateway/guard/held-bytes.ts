/** Bytes at the end of a stream that may not go on yet. Adding to them costs constant time for each byte. */
export class HeldBytes {
  #bytes: Buffer = Buffer.alloc(0)
  #from = 0
  #to = 0

  /** What is held, and more. Valid until the next call. */
  join(bytes: Buffer): Buffer {
    if (this.#from === this.#to) return bytes
    this.#append(bytes)
    return this.#bytes.subarray(this.#from, this.#to)
  }

  /** Holds the last bytes of what `join` returned, and drops the others. */
  hold(joined: Buffer, count: number): void {
    if (this.#from === this.#to) this.#append(joined.subarray(joined.length - count))
    else this.#from = this.#to - count
  }

  #append(bytes: Buffer): void {
    const length = this.#to - this.#from + bytes.length
    if (this.#to + bytes.length > this.#bytes.length) {
      const target = 2 * length > this.#bytes.length ? Buffer.allocUnsafe(2 * length) : this.#bytes
      this.#bytes.copy(target, 0, this.#from, this.#to)
      this.#to -= this.#from
      this.#from = 0
      this.#bytes = target
    }
    bytes.copy(this.#bytes, this.#to)
    this.#to += bytes.length
  }
}
