import { AppError } from '../../common/errors.ts'

/** A string in value position whose text holds `{{`: `[start, end)` of the literal with its quotes, and its text. */
export interface FoundString {
  readonly start: number
  readonly end: number
  readonly text: string
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const COMMA = 0x2c
const COLON = 0x3a
const MINUS = 0x2d
const LOWER_U = 0x75
/** `007` of `\u007b`. */
const ESCAPED_BRACE = 0x303037

/** What may come next. */
const VALUE = 0
const VALUE_OR_END = 1
const NAME = 2
const NAME_OR_END = 3
const AFTER_NAME = 4
const AFTER_VALUE = 5

const isDigit = (byte: number | undefined) => byte !== undefined && byte >= 0x30 && byte <= 0x39
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
const BOM = Buffer.of(0xef, 0xbb, 0xbf)

const fault = (at: number, what: string) =>
  new AppError(
    'malformed',
    `The body holds "{{" but is not the JSON its content type says: ${what} at byte ${at}. Send valid JSON.`,
  )

const tooLong = (limit: number) =>
  new AppError(
    'too_large',
    `A number, or a string with an expression in it, is longer than ${limit} bytes. Send the body without streaming.`,
  )

/** Index behind the number at `from` (RFC 8259 §6); `base`: where `body` begins. */
const skipNumber = (body: Buffer, from: number, base: number): number => {
  let at = body[from] === MINUS ? from + 1 : from
  if (!isDigit(body[at])) throw fault(base + at, 'a digit is missing')
  if (body[at] === 0x30) at++
  else while (isDigit(body[at])) at++
  if (body[at] === 0x2e) {
    at++
    if (!isDigit(body[at])) throw fault(base + at, 'a digit is missing')
    while (isDigit(body[at])) at++
  }
  if (((body[at] ?? 0) | 0x20) === 0x65) {
    at++
    if (body[at] === 0x2b || body[at] === MINUS) at++
    if (!isDigit(body[at])) throw fault(base + at, 'a digit is missing')
    while (isDigit(body[at])) at++
  }
  return at
}

/** How far a string was read. Reused, so that scanning allocates nothing. */
interface StringLiteral {
  /** Behind its closing quote; -1: it goes on behind `stop`. */
  end: number
  /** Where something begins that is not whole yet. */
  stop: number
  escaped: boolean
  /** Holds `{{`, escaped or not. */
  pair: boolean
  /** Behind the last `{`, -1 when there is none. */
  brace: number
}

/** Reads what a string holds, from `from` to its closing quote or the end of what there is. */
const readString = (
  body: Buffer,
  from: number,
  isLast: boolean,
  base: number,
  literal: StringLiteral,
): void => {
  const { length } = body
  let at = from
  literal.end = -1
  while (at < length) {
    const byte = body[at] as number
    if (STOPS[byte] === 0) {
      at++
    } else if (byte === QUOTE) {
      literal.end = at + 1
      return
    } else if (byte === OPEN_BRACE) {
      if (literal.brace === at) literal.pair = true
      at++
      literal.brace = at
    } else if (byte === BACKSLASH) {
      literal.escaped = true
      const next = body[at + 1]
      if (next === LOWER_U) {
        for (let digit = at + 2; digit < at + 6; digit++)
          if (!isHex(body[digit]) && (isLast || digit < length))
            throw fault(base + digit, 'a bad escape in a string')
        if (at + 6 > length) break
        const isBrace =
          body.readUIntBE(at + 2, 3) === ESCAPED_BRACE && ((body[at + 5] as number) | 0x20) === 0x62
        if (isBrace && literal.brace === at) literal.pair = true
        at += 6
        if (isBrace) literal.brace = at
      } else if (next !== undefined && SIMPLE_ESCAPES.has(next)) at += 2
      else if (next === undefined && !isLast) break
      else throw fault(base + at, 'a bad escape in a string')
    } else throw fault(base + at, 'a raw control character in a string')
  }
  if (isLast) throw fault(base + length, 'the end, within a string')
  literal.stop = at
}

export interface ScanLimits {
  /** Containers within containers. */
  readonly depth: number
  /** Bytes of a number, and of a string that holds an expression, of a body that comes in parts. */
  readonly literal: number
}

/** Scans one body, as a whole or in parts. */
export interface JsonScanner {
  /**
   * Goes on where the last call stopped: `end` is how much of `part` is done with, and the rest of it begins the next
   * part. Positions count from the beginning of `part`. Throws `malformed`, and `too_large` for what is too long to wait for.
   */
  scan(part: Buffer, isLast: boolean): { readonly found: readonly FoundString[]; readonly end: number }
}

/**
 * Finds the strings to evaluate, and checks all of the body by RFC 8259 on the way; iterative, one pass. A leading
 * UTF-8 byte order mark is passed over. Bytes that are no UTF-8 are only looked at inside strings that are found.
 */
export const createJsonScanner = ({ depth, literal: longest }: ScanLimits): JsonScanner => {
  const literal: StringLiteral = { end: 0, stop: 0, escaped: false, pair: false, brace: -1 }
  const inObject: boolean[] = []
  let expected = VALUE
  /** Bytes of the body before the part. */
  let base = 0
  /** The part begins within a string that is too long to be held. */
  let inString = false

  /** Reads the string at `from`. Where it goes on: the end of what is done with. */
  const readWhole = (part: Buffer, from: number, isLast: boolean): number | undefined => {
    if (!inString) {
      literal.escaped = false
      literal.pair = false
      literal.brace = -1
    }
    const isName = expected === NAME || expected === NAME_OR_END
    readString(part, inString ? from : from + 1, isLast, base, literal)
    const long = inString || (literal.end < 0 ? part.length : literal.end) - from > longest
    if (long && literal.pair && !isName) throw tooLong(longest)
    if (literal.end >= 0) return undefined
    if (!long) return from
    inString = true
    literal.brace -= literal.stop
    return literal.stop
  }

  const scan = (part: Buffer, isLast: boolean, found: FoundString[]): number => {
    const { length } = part
    let at = 0
    if (base === 0 && part[0] === BOM[0]) {
      if (part.subarray(0, 3).equals(BOM)) at = 3
      else if (!isLast && length < 3 && part.equals(BOM.subarray(0, length))) return 0
    }
    while (at < length) {
      const byte = part[at] as number
      if (!inString && (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09)) {
        at++
      } else if (expected === AFTER_VALUE) {
        const object = inObject[inObject.length - 1]
        if (object === undefined) throw fault(base + at, 'something behind the end')
        if (byte === COMMA) expected = object ? NAME : VALUE
        else if (byte === (object ? CLOSE_BRACE : CLOSE_BRACKET)) inObject.pop()
        else throw fault(base + at, 'a missing comma or an end that does not match')
        at++
      } else if (expected === AFTER_NAME) {
        if (byte !== COLON) throw fault(base + at, 'a missing colon')
        expected = VALUE
        at++
      } else if (inString || byte === QUOTE) {
        const isName = expected === NAME || expected === NAME_OR_END
        const undone = readWhole(part, at, isLast)
        if (undone !== undefined) return undone
        const { end } = literal
        if (literal.pair && !isName) {
          const raw = part.toString('utf8', at, end)
          found.push({
            start: at,
            end,
            text: literal.escaped ? (JSON.parse(raw) as string) : raw.slice(1, -1),
          })
        }
        inString = false
        at = end
        expected = isName ? AFTER_NAME : AFTER_VALUE
      } else if (expected === NAME || expected === NAME_OR_END) {
        if (byte !== CLOSE_BRACE || expected === NAME) throw fault(base + at, 'a missing member name')
        inObject.pop()
        expected = AFTER_VALUE
        at++
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (inObject.length >= depth) throw fault(base + at, `more than ${depth} levels of nesting`)
        inObject.push(byte === OPEN_BRACE)
        expected = byte === OPEN_BRACE ? NAME_OR_END : VALUE_OR_END
        at++
      } else if (byte === CLOSE_BRACKET && expected === VALUE_OR_END) {
        inObject.pop()
        expected = AFTER_VALUE
        at++
      } else if (byte === MINUS || isDigit(byte)) {
        let end = at + 1
        while (NUMERIC[part[end] as number] === 1) end++
        if (end - at > longest) throw tooLong(longest)
        if (end === length && !isLast) return at
        at = skipNumber(part, at, base)
        expected = AFTER_VALUE
      } else {
        const word = WORDS.get(byte)
        const there = part.subarray(at, at + (word?.length ?? 0))
        if (word === undefined || !word.subarray(0, there.length).equals(there))
          throw fault(base + at, 'no value')
        if (there.length < word.length) {
          if (isLast) throw fault(base + at, 'no value')
          return at
        }
        at += word.length
        expected = AFTER_VALUE
      }
    }
    if (isLast && (expected !== AFTER_VALUE || inObject.length > 0))
      throw fault(base + length, 'the end, too early')
    return length
  }

  return {
    scan(part, isLast) {
      const found: FoundString[] = []
      const end = scan(part, isLast, found)
      base += end
      return { found, end }
    },
  }
}

/** The strings of a whole body. Throws `malformed`, also for nesting deeper than `depth`. */
export const scanJson = (body: Buffer, depth: number): readonly FoundString[] =>
  createJsonScanner({ depth, literal: Number.POSITIVE_INFINITY }).scan(body, true).found
