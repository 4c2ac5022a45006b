/** Bits by place, and numbers, as columns of bytes keep them: in the machine's order, which is one on all supported ones. */

/** One bit for each token of a segment, or of several. */
export type Bits = Uint32Array

const WORD = 32

/** None is set. */
export const noBits = (size: number): Bits => new Uint32Array(Math.ceil(size / WORD))

/** Of `size` tokens; bytes that are fewer stand for zeros behind them. */
export const bitsOf = (bytes: Uint8Array, size: number): Bits => {
  const bits = noBits(size)
  new Uint8Array(bits.buffer).set(bytes)
  return bits
}

/** Nothing at all when no bit is set. */
export const bytesOf = (bits: Bits): Buffer =>
  bits.some((word) => word !== 0)
    ? Buffer.from(bits.buffer, bits.byteOffset, bits.byteLength)
    : Buffer.alloc(0)

export const setBit = (bits: Bits, place: number, value: boolean): void => {
  const word = Math.floor(place / WORD)
  const mask = 1 << (place % WORD)
  bits[word] = value ? bits[word]! | mask : bits[word]! & ~mask
}

/** How many are set: https://graphics.stanford.edu/~seander/bithacks.html#CountBitsSetParallel */
export const countBits = (bits: Bits): number => {
  let count = 0
  for (let at = 0; at < bits.length; at++) {
    const word = bits[at]!
    const pairs = word - ((word >>> 1) & 0x55555555)
    const nibbles = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
    count += Math.imul((nibbles + (nibbles >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
  }
  return count
}

export const packNumbers = (numbers: readonly number[]): Buffer =>
  Buffer.from(new Float64Array(numbers).buffer)

export const unpackNumbers = (bytes: Uint8Array): Float64Array =>
  new Float64Array(Uint8Array.from(bytes).buffer)

/** Where a number lies among ascending ones; undefined when it does not. */
export const placeOf = (numbers: Float64Array, number: number): number | undefined => {
  let low = 0
  let high = numbers.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (numbers[middle]! < number) low = middle + 1
    else high = middle
  }
  return numbers[low] === number ? low : undefined
}
