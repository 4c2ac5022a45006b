import { isUtf8 } from 'node:buffer'
import { AppError } from '../../common/errors.ts'
import type { Expressions, Resolve } from '../../expressions/types.ts'
import type { Work } from '../../expressions/work.ts'
import type { Charset } from './content.ts'
import { createJsonScanner } from './json-scan.ts'
import { jsonPointers } from './places.ts'
import { type Occurrence, shifted } from './plan.ts'
import { inPlace, lenient, type ScanLimits, type Scanner } from './scanner.ts'

const ESCAPED_PAIR = /(?:\{|\\u007[bB])(?:\{|\\u007[bB])/

/** Whether JSON text may hold `{{`, escaped or not. */
export const mayHoldPair = (json: Buffer): boolean =>
  json.includes('{{') ||
  ((json.includes('\\u007b') || json.includes('\\u007B')) && ESCAPED_PAIR.test(json.toString('latin1')))

const HEX = Buffer.from('0123456789abcdef')

/** JSON text that reads the same in every charset that agrees with ASCII. */
export const inAscii = (json: string): string => {
  let length = json.length
  for (let at = 0; at < json.length; at++) if (json.charCodeAt(at) > 0x7f) length += 5
  if (length === json.length) return json
  const bytes = Buffer.allocUnsafe(length)
  let to = 0
  for (let at = 0; at < json.length; at++) {
    const unit = json.charCodeAt(at)
    if (unit < 0x80) bytes[to++] = unit
    else {
      bytes[to++] = 0x5c
      bytes[to++] = 0x75
      for (const shift of [12, 8, 4, 0]) bytes[to++] = HEX[(unit >> shift) & 15] as number
    }
  }
  return bytes.toString('latin1')
}

const notAscii = () =>
  new AppError(
    'malformed',
    'A JSON string with an expression has characters outside ASCII, in a charset other than UTF-8. Send the body as UTF-8.',
  )

const notUtf8 = () =>
  new AppError('malformed', 'A JSON string with an expression is not UTF-8. Send the body as UTF-8.')

/** Throws `malformed` for a string that would be sent on as something else. */
const checkCharset = (string: Buffer, charset: Charset): void => {
  if (charset !== 'utf8' && string.some((byte) => byte > 0x7f)) throw notAscii()
  if (!isUtf8(string)) throw notUtf8()
}

/**
 * JSON: string literals in value position that hold `{{` become the value itself when they are exactly one expression,
 * else a string. Nothing else changes, and all of the body must be valid.
 */
export const createJson = (charset: Charset, expressions: Expressions, limits: ScanLimits): Scanner => {
  const scanner = createJsonScanner({ depth: limits.jsonDepth, literal: limits.longest })
  const print = (value: unknown): string =>
    charset === 'utf8' ? JSON.stringify(value) : inAscii(JSON.stringify(value))
  return {
    encoding: 'utf8',
    findPlaces: jsonPointers,
    mayHold: mayHoldPair,
    scan(part, isLast) {
      const { occurrences, end } = scanner.scan(part, isLast)
      const all = occurrences.map(({ start, end: to, text }) => {
        const parse = () => {
          checkCharset(part.subarray(start, to), charset)
          const template = expressions.parse(text)
          return {
            ids: template.ids,
            texts: [text],
            print: (resolve: Resolve, work: Work) => print(template.evaluate(resolve, work)),
          }
        }
        return { start, end: to, parse }
      })
      return { end, occurrences: all }
    },
  }
}

/**
 * JSON texts behind one another, with `separator` between them: each that holds `{{` must be valid, and the others pass
 * unread (NDJSON, JSON Lines: a line feed; RFC 7464: a record separator).
 */
export const createRecords = (separator: number, create: () => Scanner): Scanner => {
  let record = lenient(create())
  let started = false
  let number = 1
  return {
    encoding: record.encoding,
    mayHold: record.mayHold,
    scan(part, isLast) {
      const occurrences: Occurrence[] = []
      let braces = part.indexOf('{{')
      let escaped = part.indexOf('\\u007')
      for (let from = 0; ; ) {
        if (braces !== -1 && braces < from) braces = part.indexOf('{{', from)
        if (escaped !== -1 && escaped < from) escaped = part.indexOf('\\u007', from)
        const next = part.indexOf(separator, from)
        const ends = next !== -1 || isLast
        const to = next === -1 ? part.length : next
        const mayHold = (braces !== -1 && braces < to) || (escaped !== -1 && escaped < to)
        if (started || !ends || mayHold) {
          const text = part.subarray(from, to)
          const place = `Record ${number}`
          const scanned = inPlace(place, () => record.scan(text, ends))
          for (const occurrence of scanned.occurrences)
            occurrences.push({ ...shifted(occurrence, from), parse: () => inPlace(place, occurrence.parse) })
          started = true
          if (!ends) return { end: from + scanned.end, occurrences }
        }
        if (next === -1) return { end: part.length, occurrences }
        if (started) record = lenient(create())
        started = false
        number++
        from = next + 1
      }
    },
  }
}
