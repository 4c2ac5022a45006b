import { AppError } from '../../common/errors.ts'
import { badExpression } from '../../expressions/errors.ts'
import { scanExpression, scanText } from '../../expressions/scan.ts'
import type { Expressions, Resolve, Template } from '../../expressions/types.ts'
import type { Work } from '../../expressions/work.ts'
import type { Charset } from './content.ts'
import { type Occurrence, type Parsed, tooLarge } from './plan.ts'
import { createPlaces, inPlace, type ScanLimits, type Scanner, tooManyTogether } from './scanner.ts'
import { checked, encodingOf } from './text.ts'

/** Characters that end an unquoted field, or begin an expression in it. */
const MARK = /[,"\r\n]|\{\{/g
/**
 * Values that are quoted: RFC 4180 requires it for the first four characters; readers trim blanks and some accept other
 * separators.
 */
const QUOTED = /[,"\r\n;\t]/
const BYTE_ORDER_MARK = '\xef\xbb\xbf'
/** Bytes behind `{{` that may belong to its expression. */
const EXPRESSION = 1_002

const tooLong = (limit: number) =>
  new AppError('too_large', `A field is longer than ${limit} bytes. Divide it.`)

/** The rest of it is in the next part. */
const INCOMPLETE = -1

interface FieldKind {
  readonly quoted: boolean
  /** Nothing else is in its record. */
  readonly alone: boolean
}

/**
 * CSV (RFC 4180): fields with expressions are written in quotes when they were, or when what they become needs it.
 * Records end with CRLF or a line feed. In a field without quotes an expression is read to its end, with the commas
 * and quotes in it. A field that begins with `=`, `+`, `-` or `@` is written as it is.
 */
export const createCsv = (charset: Charset, expressions: Expressions, limits: ScanLimits): Scanner => {
  const encoding = encodingOf(charset)
  const places = createPlaces()
  let started = false
  /** The part begins behind a comma. */
  let inRecord = false

  const issue = (part: Buffer, at: number, what: string) =>
    new AppError(
      'malformed',
      `The body holds "{{" but is not CSV (RFC 4180): ${what}, at ${places.at(part, at)}. Write fields with quotes, line breaks or commas in quotes.`,
    )

  /** Behind the field at `from`. */
  const fieldEnd = (part: Buffer, text: string, from: number, isLast: boolean): number => {
    if (text[from] === '"')
      for (let at = text.indexOf('"', from + 1); at !== -1; at = text.indexOf('"', at + 2)) {
        if (at + 1 === text.length && !isLast) return INCOMPLETE
        if (text[at + 1] !== '"') return at + 1
      }
    else
      for (let at = from; ; ) {
        MARK.lastIndex = at
        const mark = MARK.exec(text)
        if (mark === null) return isLast ? text.length : INCOMPLETE
        if (mark[0] !== '{{') return mark.index
        if (!isLast && text.length < mark.index + EXPRESSION) return INCOMPLETE
        at = inPlace(`At ${places.at(part, mark.index)}`, () => scanExpression(text, mark.index)).end
      }
    if (isLast) throw issue(part, from, 'a quoted field without an end')
    return INCOMPLETE
  }

  /** How long a record's end is at `at`: 0 at the end of the body; undefined: the rest of it is in the next part. */
  const recordEnd = (part: Buffer, text: string, at: number, isLast: boolean): number | undefined => {
    if (at === text.length) return isLast ? 0 : undefined
    if (text[at] === '\n') return 1
    if (text[at] === '\r' && text[at + 1] === '\n') return 2
    if (text[at] === '\r' && at + 1 === text.length && !isLast) return undefined
    throw issue(part, at, 'something else than a comma or a line end behind a field')
  }

  const parse = (field: Buffer, { quoted, alone }: FieldKind): Parsed => {
    const raw = field.toString(encoding)
    const text = quoted ? raw.slice(1, -1).replaceAll('""', '"') : raw
    const pieces = scanText(text)
    if (pieces.length > 2 * limits.together) throw tooManyTogether(limits.together)
    const parts = pieces.map((piece): string | Template => {
      const stretch = text.slice(piece.start, piece.end)
      return piece.kind === 'literal' ? stretch : expressions.parse(stretch)
    })
    const isSeparated = parts.some((part) => typeof part === 'string' && /[;\t]/.test(part))
    const print = (resolve: Resolve, work: Work): string => {
      let needsQuotes = quoted
      let value = ''
      for (const part of parts) {
        const text = typeof part === 'string' ? part : checked(part.render(resolve, work), charset)
        if (typeof part !== 'string')
          needsQuotes ||= QUOTED.test(text) || (parts.length === 1 && text.trim() !== text)
        value += text
        if (value.length > limits.rewrittenBytes) throw tooLarge(limits.rewrittenBytes)
      }
      if (!needsQuotes && !(alone && value === '')) return value
      if (!quoted && isSeparated)
        throw badExpression(
          'The value needs a field in quotes. Separate fields by commas, or write the field in quotes.',
        )
      return `"${value.replaceAll('"', '""')}"`
    }
    const ids = parts.flatMap((part) => (typeof part === 'string' ? [] : part.ids))
    return { ids, texts: [text], print }
  }

  const parseIn = (field: Buffer, kind: FieldKind, here: string): Parsed => {
    const parsed = inPlace(here, () => parse(field, kind))
    return { ...parsed, print: (resolve, work) => inPlace(here, () => parsed.print(resolve, work)) }
  }

  return {
    encoding,
    mayHold: (bytes) => bytes.includes('{{'),
    scan(part, isLast) {
      const text = part.toString('latin1')
      const occurrences: Occurrence[] = []
      if (!started && !isLast && text.length < BYTE_ORDER_MARK.length) return { end: 0, occurrences }
      let at = !started && text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0
      started = true
      while (at < text.length) {
        const start = at
        const to = fieldEnd(part, text, start, isLast)
        const comma = to !== INCOMPLETE && text[to] === ','
        const end = to === INCOMPLETE || comma ? undefined : recordEnd(part, text, to, isLast)
        if ((to === INCOMPLETE ? text.length : to) - start > limits.heldBytes) throw tooLong(limits.heldBytes)
        if (!comma && end === undefined) break
        const inner = text.slice(start, to)
        if (inner.includes('{{')) {
          const kind = { quoted: inner.startsWith('"'), alone: !inRecord && !comma }
          if (!kind.quoted && /[\r\n]/.test(inner))
            throw issue(part, start, 'an expression with a line break and without quotes')
          const here = `At ${places.at(part, start)}`
          occurrences.push({ start, end: to, parse: () => parseIn(part.subarray(start, to), kind, here) })
        }
        inRecord = comma
        at = to + (comma ? 1 : (end ?? 0))
      }
      places.passed(part, at)
      return { end: at, occurrences }
    },
  }
}
