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

/** The bytes that may follow a backslash, `u` apart: " \ / b f n r t. */
const SIMPLE_ESCAPES: ReadonlySet<number> = new Set([0x22, 0x5c, 0x2f, 0x62, 0x66, 0x6e, 0x72, 0x74])

/** 1 for the bytes that a string cannot simply run over: control characters, quote, backslash, opening brace. */
const STOPS = new Uint8Array(256).map((_zero, byte) =>
  byte < 0x20 || byte === QUOTE || byte === BACKSLASH || byte === OPEN_BRACE ? 1 : 0,
)

const WORDS: ReadonlyMap<number, Buffer> = new Map(
  ['true', 'false', 'null'].map((word) => [word.charCodeAt(0), Buffer.from(word)]),
)

const fault = (at: number, what: string) =>
  new AppError(
    'malformed',
    `The body holds "{{" but is not the JSON its content type says: ${what} at byte ${at}. Send valid JSON.`,
  )

/** Index behind the number at `from` (RFC 8259 §6). */
const skipNumber = (body: Buffer, from: number): number => {
  let at = body[from] === MINUS ? from + 1 : from
  if (!isDigit(body[at])) throw fault(at, 'a digit is missing')
  if (body[at] === 0x30) at++
  else while (isDigit(body[at])) at++
  if (body[at] === 0x2e) {
    at++
    if (!isDigit(body[at])) throw fault(at, 'a digit is missing')
    while (isDigit(body[at])) at++
  }
  if (((body[at] ?? 0) | 0x20) === 0x65) {
    at++
    if (body[at] === 0x2b || body[at] === MINUS) at++
    if (!isDigit(body[at])) throw fault(at, 'a digit is missing')
    while (isDigit(body[at])) at++
  }
  return at
}

interface StringLiteral {
  end: number
  escaped: boolean
  /** Holds `{{`, or an escape that may be part of one. */
  suspect: boolean
}

/** Reads the string that opens at `from` into `found`, which is reused so that scanning allocates nothing. */
const readString = (body: Buffer, from: number, found: StringLiteral): void => {
  found.escaped = false
  found.suspect = false
  const { length } = body
  let at = from + 1
  while (at < length) {
    const byte = body[at] as number
    if (STOPS[byte] === 0) {
      at++
    } else if (byte === QUOTE) {
      found.end = at + 1
      return
    } else if (byte === OPEN_BRACE) {
      if (body[at + 1] === OPEN_BRACE) found.suspect = true
      at++
    } else if (byte === BACKSLASH) {
      found.escaped = true
      const next = body[at + 1]
      if (next === LOWER_U) {
        for (let digit = at + 2; digit < at + 6; digit++)
          if (!isHex(body[digit])) throw fault(digit, 'a bad escape in a string')
        if (body[at + 4] === 0x37 && ((body[at + 5] as number) | 0x20) === 0x62) found.suspect = true
        at += 6
      } else if (next !== undefined && SIMPLE_ESCAPES.has(next)) at += 2
      else throw fault(at, 'a bad escape in a string')
    } else throw fault(at, 'a raw control character in a string')
  }
  throw fault(body.length, 'the end, within a string')
}

/**
 * Finds the strings to evaluate, and checks all of the body by RFC 8259 on the way; iterative, one pass. A leading
 * UTF-8 byte order mark is passed over. Bytes that are no UTF-8 are only looked at inside strings that are found.
 * Throws `malformed`, also for nesting deeper than `maxDepth`.
 */
export const scanJson = (body: Buffer, maxDepth: number): readonly FoundString[] => {
  const found: FoundString[] = []
  const literal: StringLiteral = { end: 0, escaped: false, suspect: false }
  const inObject: boolean[] = []
  let expected = VALUE
  let at = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 3 : 0
  while (at < body.length) {
    const byte = body[at] as number
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) {
      at++
    } else if (expected === AFTER_VALUE) {
      const object = inObject[inObject.length - 1]
      if (object === undefined) throw fault(at, 'something behind the end')
      if (byte === COMMA) expected = object ? NAME : VALUE
      else if (byte === (object ? CLOSE_BRACE : CLOSE_BRACKET)) inObject.pop()
      else throw fault(at, 'a missing comma or an end that does not match')
      at++
    } else if (expected === AFTER_NAME) {
      if (byte !== COLON) throw fault(at, 'a missing colon')
      expected = VALUE
      at++
    } else if (expected === NAME || expected === NAME_OR_END) {
      if (byte === QUOTE) {
        readString(body, at, literal)
        at = literal.end
        expected = AFTER_NAME
      } else if (byte === CLOSE_BRACE && expected === NAME_OR_END) {
        inObject.pop()
        expected = AFTER_VALUE
        at++
      } else throw fault(at, 'a missing member name')
    } else if (byte === QUOTE) {
      readString(body, at, literal)
      const { end } = literal
      if (literal.suspect) {
        const raw = body.toString('utf8', at, end)
        const text = literal.escaped ? (JSON.parse(raw) as string) : raw.slice(1, -1)
        if (text.includes('{{')) found.push({ start: at, end, text })
      }
      at = end
      expected = AFTER_VALUE
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (inObject.length >= maxDepth) throw fault(at, `more than ${maxDepth} levels of nesting`)
      inObject.push(byte === OPEN_BRACE)
      expected = byte === OPEN_BRACE ? NAME_OR_END : VALUE_OR_END
      at++
    } else if (byte === CLOSE_BRACKET && expected === VALUE_OR_END) {
      inObject.pop()
      expected = AFTER_VALUE
      at++
    } else if (byte === MINUS || isDigit(byte)) {
      at = skipNumber(body, at)
      expected = AFTER_VALUE
    } else {
      const word = WORDS.get(byte)
      if (word === undefined || !word.equals(body.subarray(at, at + word.length))) throw fault(at, 'no value')
      at += word.length
      expected = AFTER_VALUE
    }
  }
  if (expected !== AFTER_VALUE || inObject.length > 0) throw fault(body.length, 'the end, too early')
  return found
}
