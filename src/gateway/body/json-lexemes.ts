/**
 * Strings, numbers and words of JSON as bytes: where they end, and whether they are well formed (RFC 8259 §3, §6, §7).
 */
import { AppError } from '../../common/errors.ts'

export const QUOTE = 0x22
export const MINUS = 0x2d
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const LOWER_U = 0x75
/** `007` of `\u007b`. */
const ESCAPED_BRACE = 0x303037

export const isDigit = (byte: number | undefined) => byte !== undefined && byte >= 0x30 && byte <= 0x39
const isHex = (byte: number | undefined) =>
  isDigit(byte) || (byte !== undefined && (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66)

/** The bytes that may follow a backslash, `u` apart: " \\ / b f n r t. */
const SIMPLE_ESCAPES: ReadonlySet<number> = new Set([0x22, 0x5c, 0x2f, 0x62, 0x66, 0x6e, 0x72, 0x74])

/** 1 for the bytes that a string cannot simply run over: control characters, quote, backslash, opening brace. */
const STOPS = new Uint8Array(256).map((_zero, byte) =>
  byte < 0x20 || byte === QUOTE || byte === BACKSLASH || byte === OPEN_BRACE ? 1 : 0,
)

/** 1 for the bytes that numbers have. */
const NUMERIC = new Uint8Array(256).map((_zero, byte) =>
  isDigit(byte) || byte === 0x2b || byte === MINUS || byte === 0x2e || (byte | 0x20) === 0x65 ? 1 : 0,
)

const WORDS: ReadonlyMap<number, Buffer> = new Map(
  ['true', 'false', 'null'].map((word) => [word.charCodeAt(0), Buffer.from(word)]),
)

export const issue = (at: number, what: string) =>
  new AppError(
    'malformed',
    `The body holds "{{" but is not the JSON its content type says: ${what} at byte ${at}. Send valid JSON.`,
  )

/** A part of a body, also four bytes at a time. */
export interface Text {
  readonly bytes: Buffer
  /** Where the part begins in the body. */
  readonly base: number
  /** The body ends with it. */
  readonly isLast: boolean
  readonly words: Int32Array
  /** Where in `bytes` the words begin. */
  readonly firstWord: number
}

export const textOf = (bytes: Buffer, base: number, isLast: boolean): Text => {
  const firstWord = -bytes.byteOffset & 3
  const count = (bytes.length - firstWord) >> 2
  const words =
    count > 0 ? new Int32Array(bytes.buffer, bytes.byteOffset + firstWord, count) : new Int32Array()
  return { bytes, base, isLast, words, firstWord }
}

const ONES = 0x01010101
const BLANKS = 0x20202020
const QUOTES = QUOTE * ONES
const BACKSLASHES = BACKSLASH * ONES
const OPEN_BRACES = OPEN_BRACE * ONES
const HIGH_BITS = 0x80808080

/**
 * Whether one of four bytes is in STOPS: a byte less than n borrows its high bit when n is subtracted, and has none
 * itself.
 */
const hasStop = (word: number): boolean => {
  const quote = word ^ QUOTES
  const backslash = word ^ BACKSLASHES
  const brace = word ^ OPEN_BRACES
  const stops =
    ((word - BLANKS) & ~word) |
    ((quote - ONES) & ~quote) |
    ((backslash - ONES) & ~backslash) |
    ((brace - ONES) & ~brace)
  return (stops & HIGH_BITS) !== 0
}

/**
 * Index of the first byte from `from` on that a string cannot simply run over; the end of the part when there is none.
 */
export const plainEnd = ({ bytes, words, firstWord }: Text, from: number): number => {
  const { length } = bytes
  let at = from
  while (at < length && ((at - firstWord) & 3) !== 0) {
    if (STOPS[bytes[at] as number] === 1) return at
    at++
  }
  if (at === length) return length
  let word = (at - firstWord) >> 2
  while (word < words.length && !hasStop(words[word] as number)) word++
  at = firstWord + (word << 2)
  while (at < length && STOPS[bytes[at] as number] === 0) at++
  return at
}

/** How far a string was read. Reused, so that scanning allocates nothing. */
export interface StringLiteral {
  /** After its closing quote; -1: it continues after `stop`. */
  end: number
  /** Start of an incomplete element. */
  stop: number
  escaped: boolean
  /** Holds `{{`, escaped or not. */
  pair: boolean
  /** Behind the last `{`, -1 when there is none. */
  brace: number
}

/** Reads what a string holds, from `from` to its closing quote or the end of the part. Throws `malformed`. */
export const readString = (text: Text, from: number, literal: StringLiteral): void => {
  const { bytes, base, isLast } = text
  const { length } = bytes
  let at = from
  literal.end = -1
  while (at < length) {
    const byte = bytes[at] as number
    if (STOPS[byte] === 0) {
      at = plainEnd(text, at + 1)
    } else if (byte === QUOTE) {
      literal.end = at + 1
      return
    } else if (byte === OPEN_BRACE) {
      if (literal.brace === at) literal.pair = true
      at++
      literal.brace = at
    } else if (byte === BACKSLASH) {
      literal.escaped = true
      const next = bytes[at + 1]
      if (next === LOWER_U) {
        for (let digit = at + 2; digit < at + 6; digit++)
          if (!isHex(bytes[digit]) && (isLast || digit < length))
            throw issue(base + digit, 'a bad escape in a string')
        if (at + 6 > length) break
        const isBrace =
          bytes.readUIntBE(at + 2, 3) === ESCAPED_BRACE && ((bytes[at + 5] as number) | 0x20) === 0x62
        if (isBrace && literal.brace === at) literal.pair = true
        at += 6
        if (isBrace) literal.brace = at
      } else if (next !== undefined && SIMPLE_ESCAPES.has(next)) at += 2
      else if (next === undefined && !isLast) break
      else throw issue(base + at, 'a bad escape in a string')
    } else throw issue(base + at, 'a raw control character in a string')
  }
  if (isLast) throw issue(base + length, 'the end, within a string')
  literal.stop = at
}

/** Index behind the bytes from `from` on that numbers have. */
export const numericEnd = ({ bytes }: Text, from: number): number => {
  let at = from
  while (at < bytes.length && NUMERIC[bytes[at] as number] === 1) at++
  return at
}

/** Index behind the number at `from`. Throws `malformed`. */
export const skipNumber = ({ bytes, base }: Text, from: number): number => {
  let at = bytes[from] === MINUS ? from + 1 : from
  if (!isDigit(bytes[at])) throw issue(base + at, 'a digit is missing')
  if (bytes[at] === 0x30) at++
  else while (isDigit(bytes[at])) at++
  if (bytes[at] === 0x2e) {
    at++
    if (!isDigit(bytes[at])) throw issue(base + at, 'a digit is missing')
    while (isDigit(bytes[at])) at++
  }
  if (((bytes[at] ?? 0) | 0x20) === 0x65) {
    at++
    if (bytes[at] === 0x2b || bytes[at] === MINUS) at++
    if (!isDigit(bytes[at])) throw issue(base + at, 'a digit is missing')
    while (isDigit(bytes[at])) at++
  }
  return at
}

/** Index behind the word at `from`; undefined: the rest of it is in the next part. Throws `malformed`. */
export const skipWord = ({ bytes, base, isLast }: Text, from: number): number | undefined => {
  const word = WORDS.get(bytes[from] as number)
  if (word === undefined) throw issue(base + from, 'no value')
  for (let index = 1; index < word.length; index++) {
    const byte = bytes[from + index]
    if (byte === undefined && !isLast) return undefined
    if (byte !== word[index]) throw issue(base + from, 'no value')
  }
  return from + word.length
}
