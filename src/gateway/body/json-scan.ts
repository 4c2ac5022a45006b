import { AppError } from '../../common/errors.ts'
import {
  isDigit,
  issue,
  MINUS,
  numericEnd,
  plainEnd,
  QUOTE,
  readString,
  type StringLiteral,
  skipNumber,
  skipWord,
  type Text,
  textOf,
} from './json-lexemes.ts'

/** A string in value position whose text holds `{{`: `[start, end)` of the literal with its quotes, and its text. */
interface StringOccurrence {
  readonly start: number
  readonly end: number
  readonly text: string
}

const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const COMMA = 0x2c
const COLON = 0x3a

/** States: the token that may come next. */
const VALUE = 0
const VALUE_OR_END = 1
const NAME = 2
const NAME_OR_END = 3
const AFTER_NAME = 4
const AFTER_VALUE = 5

const BOM = Buffer.of(0xef, 0xbb, 0xbf)

const tooLong = (limit: number) =>
  new AppError(
    'too_large',
    `A number, or a string with an expression in it, is longer than ${limit} bytes. Send the body without streaming.`,
  )

interface ScanLimits {
  /** Containers within containers. */
  readonly depth: number
  /** Bytes of a number, and of a string that holds an expression, of a body that comes in parts. */
  readonly literal: number
}

/** Scans one body, complete or in parts. */
interface JsonScanner {
  /**
   * Goes on where the last call stopped: `end` is how much of `part` is done with, and the rest of it begins the next
   * part. Positions count from the beginning of `part`. Throws `malformed`, and `too_large` for what is too long to
   * wait for.
   */
  scan(
    part: Buffer,
    isLast: boolean,
  ): { readonly occurrences: readonly StringOccurrence[]; readonly end: number }
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

  /** Reads the string at `from`. If it continues: the end of the processed part. */
  const readWhole = (text: Text, from: number): number | undefined => {
    if (!inString) {
      literal.escaped = false
      literal.pair = false
      literal.brace = -1
    }
    const isName = expected === NAME || expected === NAME_OR_END
    readString(text, inString ? from : from + 1, literal)
    const long = inString || (literal.end < 0 ? text.bytes.length : literal.end) - from > longest
    if (long && literal.pair && !isName) throw tooLong(longest)
    if (literal.end >= 0) return undefined
    if (!long) return from
    inString = true
    literal.brace -= literal.stop
    return literal.stop
  }

  const scan = (part: Buffer, isLast: boolean, occurrences: StringOccurrence[]): number => {
    const { length } = part
    const text = textOf(part, base, isLast)
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
        if (object === undefined) throw issue(base + at, 'data after the end')
        if (byte === COMMA) expected = object ? NAME : VALUE
        else if (byte === (object ? CLOSE_BRACE : CLOSE_BRACKET)) inObject.pop()
        else throw issue(base + at, 'a missing comma or an end that does not match')
        at++
      } else if (expected === AFTER_NAME) {
        if (byte !== COLON) throw issue(base + at, 'a missing colon')
        expected = VALUE
        at++
      } else if (inString || byte === QUOTE) {
        const isName = expected === NAME || expected === NAME_OR_END
        const plain = inString ? at : plainEnd(text, at + 1)
        if (!inString && part[plain] === QUOTE) at = plain + 1
        else {
          const undone = readWhole(text, at)
          if (undone !== undefined) return undone
          const { end } = literal
          if (literal.pair && !isName) {
            const raw = part.toString('utf8', at, end)
            occurrences.push({
              start: at,
              end,
              text: literal.escaped ? (JSON.parse(raw) as string) : raw.slice(1, -1),
            })
          }
          inString = false
          at = end
        }
        expected = isName ? AFTER_NAME : AFTER_VALUE
      } else if (expected === NAME || expected === NAME_OR_END) {
        if (byte !== CLOSE_BRACE || expected === NAME) throw issue(base + at, 'a missing member name')
        inObject.pop()
        expected = AFTER_VALUE
        at++
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (inObject.length >= depth) throw issue(base + at, `more than ${depth} levels of nesting`)
        inObject.push(byte === OPEN_BRACE)
        expected = byte === OPEN_BRACE ? NAME_OR_END : VALUE_OR_END
        at++
      } else if (byte === CLOSE_BRACKET && expected === VALUE_OR_END) {
        inObject.pop()
        expected = AFTER_VALUE
        at++
      } else if (byte === MINUS || isDigit(byte)) {
        const end = numericEnd(text, at + 1)
        if (end - at > longest) throw tooLong(longest)
        if (end === length && !isLast) return at
        at = skipNumber(text, at)
        expected = AFTER_VALUE
      } else {
        const end = skipWord(text, at)
        if (end === undefined) return at
        at = end
        expected = AFTER_VALUE
      }
    }
    if (isLast && (expected !== AFTER_VALUE || inObject.length > 0))
      throw issue(base + length, 'the end, too early')
    return length
  }

  return {
    scan(part, isLast) {
      const occurrences: StringOccurrence[] = []
      const end = scan(part, isLast, occurrences)
      base += end
      return { occurrences, end }
    },
  }
}
