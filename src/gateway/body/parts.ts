/** Bodies that come in parts: what of them can be decided so far. Pure, as rewrite.ts is for whole bodies. */
import { AppError } from '../../common/errors.ts'
import { createTextScanner } from '../../expressions/scan.ts'
import type { Expressions } from '../../expressions/types.ts'
import { type Charset, contentOf } from './content.ts'
import { codingsOf } from './decode.ts'
import * as form from './form.ts'
import * as json from './json.ts'
import { createJsonScanner } from './json-scan.ts'
import type { BodyLimits } from './limits.ts'
import type { Found } from './plan.ts'
import { encodingOf, replacePieces } from './text.ts'

/** A stretch of a body, and what of it is to be replaced. */
export interface Part {
  readonly bytes: Buffer
  readonly found: readonly Found[]
}

/** What is decided of the bytes there are: `[0, end)`. The rest is seen again, with more behind it. */
interface Decided {
  readonly end: number
  readonly found: readonly Found[]
}

type Decide = (bytes: Buffer, isLast: boolean) => Decided

/** Takes one body in parts, in order; the parts it gives are, put together, what came. */
export interface PartReader {
  /** What the replacements print is text in this encoding. */
  readonly encoding: 'utf8' | 'latin1'
  /** Throws `bad_expression`, `malformed` and `too_large`. */
  push(bytes: Buffer, isLast: boolean): Part
}

const NOTHING: Decided = { end: 0, found: [] }
const passes: Decide = ({ length }) => ({ end: length, found: [] })

const fieldTooLong = (limit: number) =>
  new AppError(
    'too_large',
    `A form field with an expression in it is longer than ${limit} bytes. Send the body without streaming.`,
  )

/** The longest `{{` in a field's value, less one: `%7b%7`. */
const FORM_OVERLAP = 5

/** Whole fields are decided; of one that is too long to be held only that it holds no expression. */
const formDecider = (expressions: Expressions, { heldBytes }: BodyLimits): Decide => {
  /** Within a field that is too long: behind its `=` or not. */
  let long: 'name' | 'value' | undefined
  let overlap = ''

  /** Goes on in a long field to its end. */
  const passLong = (text: string): number => {
    const next = text.indexOf('&')
    const end = next === -1 ? text.length : next
    let from = 0
    if (long === 'name') {
      from = text.indexOf('=') + 1
      if (from === 0 || from > end) from = end
      else long = 'value'
    }
    if (long === 'value') {
      const seen = overlap + text.slice(from, end)
      if (form.mayHoldPair(seen)) throw fieldTooLong(heldBytes)
      overlap = seen.slice(-FORM_OVERLAP)
    }
    if (next !== -1) long = undefined
    return end
  }

  return (bytes, isLast) => {
    const from = long === undefined ? 0 : passLong(bytes.toString('latin1'))
    const cut = isLast ? bytes.length : Math.max(from, bytes.lastIndexOf('&') + 1)
    const whole = bytes.subarray(from, cut)
    const found = form
      .replaceFields(whole, expressions)
      .map((one) => ({ ...one, start: one.start + from, end: one.end + from }))
    for (const { start, end } of found)
      if (end - bytes.lastIndexOf('&', start - 1) - 1 > heldBytes) throw fieldTooLong(heldBytes)
    if (long !== undefined || bytes.length - cut <= heldBytes) return { end: cut, found }
    long = 'name'
    overlap = ''
    return { end: cut + passLong(bytes.toString('latin1', cut)), found }
  }
}

/** The longest `{{` in a JSON text, less one: `\u007b\u007`. */
const JSON_OVERLAP = 11

/** As for whole bodies, what is not JSON passes as long as nowhere in it there is a `{{`. */
const jsonDecider = (expressions: Expressions, limits: BodyLimits): Decide => {
  const scanner = createJsonScanner({ depth: limits.jsonDepth, literal: limits.heldBytes })
  let mayHoldPair = false
  let fault: unknown
  /** So many bytes at the beginning of the next were looked at for `{{`; the last ones of those. */
  let looked = 0
  let overlap: Buffer = Buffer.alloc(0)

  const look = (more: Buffer): void => {
    if (mayHoldPair) return
    const between = Buffer.concat([overlap, more.subarray(0, JSON_OVERLAP)])
    mayHoldPair = json.mayHoldPair(between) || json.mayHoldPair(more)
    overlap = Buffer.from((more.length < JSON_OVERLAP ? between : more).subarray(-JSON_OVERLAP))
  }

  return (bytes, isLast) => {
    look(bytes.subarray(looked))
    if (fault !== undefined && mayHoldPair) throw fault
    let end = bytes.length
    let found: readonly Found[] = []
    if (fault === undefined)
      try {
        const scanned = scanner.scan(bytes, isLast)
        found = json.replaceStrings(scanned.found, expressions)
        end = scanned.end
      } catch (thrown) {
        if (mayHoldPair || AppError.from(thrown).code !== 'malformed') throw thrown
        fault = thrown
      }
    looked = bytes.length - end
    return { end, found }
  }
}

const textDecider = (charset: Charset, expressions: Expressions): Decide => {
  const scanner = createTextScanner()
  return (bytes, isLast) => {
    const scanned = scanner.scan(bytes.toString('latin1'), isLast)
    return { end: scanned.end, found: replacePieces(bytes, scanned, charset, expressions) }
  }
}

/** Nothing is decided again before there is as much again: small parts cost no more than large ones. */
const holding = (encoding: PartReader['encoding'], decide: Decide): PartReader => {
  let held: Buffer[] = []
  let size = 0
  let enough = 0
  return {
    encoding,
    push(bytes, isLast) {
      held.push(bytes)
      size += bytes.length
      const isEnough = isLast || size >= enough
      const all = isEnough && held.length > 1 ? Buffer.concat(held, size) : bytes
      const { end, found } = isEnough ? decide(all, isLast) : NOTHING
      if (isEnough) {
        held = end === all.length ? [] : [all.subarray(end)]
        size = all.length - end
        enough = 2 * size
      }
      return { bytes: all.subarray(0, end), found }
    },
  }
}

const unreadable = (what: string) =>
  new AppError('unsupported_media_type', `${what} cannot be streamed. Send the body without streaming.`)

/**
 * Reads a body of these headers in parts (completions §6). Throws `unsupported_media_type` for what only a whole body
 * shows: that one without a content type is text, or what a compressed one holds; `malformed` for several content types.
 */
export const createPartReader = (
  contentType: string | undefined,
  contentEncoding: string | undefined,
  expressions: Expressions,
  limits: BodyLimits,
): PartReader => {
  const codings = codingsOf(contentEncoding)
  if (codings === undefined) return holding('latin1', passes)
  if (contentType === undefined || contentType.trim() === '')
    throw unreadable('A body without a content type')
  const { kind, charset } = contentOf(contentType)
  if (kind === 'binary') return holding('latin1', passes)
  if (codings.length > 0) throw unreadable('A compressed body that may hold expressions')
  if (kind === 'json') return holding('utf8', jsonDecider(expressions, limits))
  if (kind === 'form') return holding('latin1', formDecider(expressions, limits))
  return holding(encodingOf(charset), textDecider(charset, expressions))
}
