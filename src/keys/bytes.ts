import { randomFillSync } from 'node:crypto'

/** A string as bytes such that different strings are never the same bytes: lone surrogates have no UTF-8. */
const encodingOf = (text: string): 'utf8' | 'utf16le' => (text.isWellFormed() ? 'utf8' : 'utf16le')

const HEAD = 5
const NOTHING = Buffer.alloc(0)

/**
 * The parts as one unambiguous byte string: each behind its encoding (1 byte) and length (uint32), so that no two
 * different lists of parts give the same bytes. What is authenticated or digested with several members goes through here.
 */
export const lengthPrefixed = (...parts: readonly string[]): Buffer => lengthPrefixedBehind(NOTHING, ...parts)

/** The same behind other bytes, whose count is always the same. */
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
 * Random bytes drawn from a pool that is refilled as a whole: a call of the generator for each record costs as much
 * as encrypting it. Bytes leave the pool once and are wiped there. At most 4096.
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
