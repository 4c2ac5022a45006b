/** The encoding of form fields (WHATWG URL, application/x-www-form-urlencoded), as bytes and in linear time. */
import { isUtf8 } from 'node:buffer'
import { AppError } from '../../common/errors.ts'

const OPEN_BRACE = 0x7b
const PERCENT = 0x25
const PLUS = 0x2b
const SPACE = 0x20
/** The longest `{{`, less one byte: `%7b%7`. */
const OVERLAP = 5

const hexOf = (byte: number | undefined): number => {
  if (byte === undefined) return -1
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

/** False: decoded, the bytes hold no `{{`. As quick as a search can be. */
export const mayHoldPair = (bytes: Buffer): boolean =>
  bytes.includes('{{') || bytes.includes('%7b') || bytes.includes('%7B')

/** Whether `[from, to)` holds `{{` once decoded. */
export const holdsPair = (bytes: Buffer, from = 0, to = bytes.length): boolean => {
  /** Behind the last brace. */
  let behind = -1
  for (let at = from; at < to; ) {
    const byte = bytes[at] as number
    let end = at + 1
    if (byte === PERCENT && bytes[end] === 0x37 && ((bytes[at + 2] ?? 0) | 0x20) === 0x62 && at + 3 <= to)
      end = at + 3
    else if (byte !== OPEN_BRACE) {
      at = end
      continue
    }
    if (behind === at) return true
    behind = end
    at = end
  }
  return false
}

/** Whether bytes that come in parts held `{{` so far. */
export type PairFinder = (bytes: Buffer) => boolean

export const createPairFinder = (): PairFinder => {
  let tail: Buffer = Buffer.alloc(0)
  let isFound = false
  return (bytes: Buffer): boolean => {
    isFound ||=
      holdsPair(Buffer.concat([tail, bytes.subarray(0, OVERLAP)])) || (mayHoldPair(bytes) && holdsPair(bytes))
    tail = Buffer.concat([tail, bytes.subarray(-OVERLAP)]).subarray(-OVERLAP)
    return isFound
  }
}

interface Decoded {
  readonly bytes: Buffer
  /** Where each decoded byte, and the end of them, stands in the encoded ones. */
  readonly positions: Uint32Array
}

/** Decodes `[from, to)`. `plus`: the byte that "+" stands for, a blank in forms. */
export const decodeForm = (encoded: Buffer, from: number, to: number, plus = SPACE): Decoded => {
  const bytes = Buffer.allocUnsafe(to - from)
  const positions = new Uint32Array(to - from + 1)
  let length = 0
  for (let at = from; at < to; length++) {
    const byte = encoded[at] as number
    const high = byte === PERCENT && at + 2 < to ? hexOf(encoded[at + 1]) : -1
    const low = high < 0 ? -1 : hexOf(encoded[at + 2])
    positions[length] = at
    bytes[length] = low >= 0 ? high * 16 + low : byte === PLUS ? plus : byte
    at += low >= 0 ? 3 : 1
  }
  positions[length] = to
  return { bytes: bytes.subarray(0, length), positions }
}

/**
 * The last place at or before `to` that divides neither an escape nor a character of UTF-8; `from`: where a value
 * begins.
 */
export const divisibleAt = (encoded: Buffer, from: number, to: number): number => {
  const percent = encoded.lastIndexOf(PERCENT, to - 1)
  const end = percent >= from && percent > to - 3 ? percent : to
  const { bytes, positions } = decodeForm(encoded, Math.max(from, end - 12), end)
  // An escape that the stretch begins within decodes to ASCII, which begins a character as well.
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] as number
    if (byte < 0x80) break
    if (byte >= 0xc0) return positions[bytes.length - back] as number
  }
  return end
}

/** Throws `malformed` for what is no UTF-8: it would be sent on as something else. */
export const textOfField = (bytes: Buffer): string => {
  if (isUtf8(bytes)) return bytes.toString('utf8')
  throw new AppError(
    'malformed',
    'A form field that holds an expression is not UTF-8. Send the form as UTF-8.',
  )
}

/** 1 for the bytes that stand for themselves. */
const plainBytes = (pattern: RegExp): Uint8Array =>
  new Uint8Array(256).map((_zero, byte) => (pattern.test(String.fromCharCode(byte)) ? 1 : 0))
const IN_FORMS = plainBytes(/[A-Za-z0-9*._-]/)
/** RFC 3986 §2.3. */
const UNRESERVED = plainBytes(/[A-Za-z0-9._~-]/)
const HEX = Buffer.from('0123456789ABCDEF')

const encode = (text: string, plain: Uint8Array, blank: number | undefined): string => {
  const bytes = Buffer.from(text.toWellFormed())
  const encoded = Buffer.allocUnsafe(3 * bytes.length)
  let length = 0
  for (const byte of bytes)
    if (plain[byte] === 1) encoded[length++] = byte
    else if (byte === SPACE && blank !== undefined) encoded[length++] = blank
    else {
      encoded[length++] = PERCENT
      encoded[length++] = HEX[byte >> 4] as number
      encoded[length++] = HEX[byte & 15] as number
    }
  return encoded.toString('latin1', 0, length)
}

export const encodeForm = (text: string): string => encode(text, IN_FORMS, PLUS)

/** Percent-encodes all but unreserved characters: for a segment of a path and a value of a query. */
export const encodeComponent = (text: string): string => encode(text, UNRESERVED, undefined)
