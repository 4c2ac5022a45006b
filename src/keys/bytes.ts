import { randomFillSync } from 'node:crypto'

/**
 * UTF-16 for strings with lone surrogates, which UTF-8 would all encode as U+FFFD: different strings must have
 * different bytes.
 */
const encodingOf = (text: string): 'utf8' | 'utf16le' => (text.isWellFormed() ? 'utf8' : 'utf16le')

const HEAD = 5
const NOTHING = Buffer.alloc(0)

/**
 * The parts as one byte string, each prefixed with its encoding (1 byte) and length (uint32): different lists of parts
 * have different bytes. For everything that is authenticated or digested with several members.
 */
export const lengthPrefixed = (...parts: readonly string[]): Buffer => lengthPrefixedBehind(NOTHING, ...parts)

/** `lengthPrefixed` after `start`, which must have a fixed length. */
export const lengthPrefixedBehind = (start: Buffer, ...parts: readonly string[]): Buffer => {
  let most = start.length
  for (const part of parts) most += HEAD + 3 * part.length
  const bytes = Buffer.allocUnsafe(most)
  bytes.set(start)
  let at = start.length
  for (const part of parts) {
    const encoding = encodingOf(part)
    const length = bytes.write(part, at + HEAD, encoding)
    bytes[at] = encoding === 'utf8' ? 0 : 1
    bytes.writeUInt32BE(length, at + 1)
    at += HEAD + length
  }
  return bytes.subarray(0, at)
}

const pool = Buffer.allocUnsafeSlow(4096)
let used = pool.length

/**
 * Random bytes from a pool: one call of the generator per record costs as much as encrypting the record. Bytes are used
 * once and wiped in the pool. `size`: at most 4096.
 */
export const pooledRandom = (size: number): Buffer => {
  if (used + size > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const bytes = Buffer.from(pool.subarray(used, used + size))
  pool.fill(0, used, used + size)
  used += size
  return bytes
}
