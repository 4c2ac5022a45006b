import { AppError } from '../../common/errors.ts'
import { badExpression } from '../../expressions/errors.ts'
import { scanText } from '../../expressions/scan.ts'
import type { Expressions } from '../../expressions/types.ts'
import type { Occurrence } from './plan.ts'
import { createPlaces, inPlace, type ScanLimits, type Scanner, tooManyTogether } from './scanner.ts'
import { replacePieces, type Writing } from './text.ts'
import { escapeXml, hasWholeReferences, unescapeXml, type XmlPlace } from './xml-values.ts'

// The bytes are read as latin1: all UTF-8 beyond ASCII counts as letters of names.
const NAME = '[A-Za-z_:\\x80-\\xff][-.\\w:\\x80-\\xff]*'
const BLANK = '[ \\t\\r\\n]'
const TAG = new RegExp(`<${NAME}`, 'y')
const ATTRIBUTE = new RegExp(`${BLANK}+${NAME}${BLANK}*=${BLANK}*(["'])`, 'y')
const TAG_END = new RegExp(`${BLANK}*/?>`, 'y')
const END_TAG = new RegExp(`</${NAME}${BLANK}*>`, 'y')
const DOCTYPE_MARK = /["'>[]/g
const DECLARED = /^<\?xml[ \t\r\n][^>]*?\bencoding[ \t\r\n]*=[ \t\r\n]*["']([^"']*)/
const UTF8 = /^(utf-?8|us-ascii|ascii)$/i
const BYTE_ORDER_MARK = '\xef\xbb\xbf'
/** Length of the longest prefix that identifies a kind of markup. */
const MARK = '<![CDATA['.length
const UTF16_PAIR = Buffer.from('{{', 'utf16le').subarray(0, 3)

const tooLong = (limit: number) =>
  new AppError(
    'too_large',
    `A text or a tag with an expression in it is longer than ${limit} bytes. Divide it.`,
  )

/** The rest of it is in the next part. */
const INCOMPLETE = -1

/** A stretch `[from, to)` that may hold expressions. */
interface Run {
  readonly place: XmlPlace
  readonly from: number
  readonly to: number
}

const misplaced = (what: string, place: string) =>
  badExpression(
    `An expression stands in ${what} that begins at ${place}. It may stand in text, attribute values and CDATA.`,
  )

/**
 * XML 1.0 by a lexer: expressions in text, attribute values and CDATA sections are replaced, and values escaped for
 * where they stand; all other bytes stay. Tags are counted, not matched by name, and entities are not expanded: neither
 * changes what is text. A body with an expression must be UTF-8 and have no DOCTYPE with an internal subset.
 */
export const createXml = (expressions: Expressions, limits: ScanLimits): Scanner => {
  const places = createPlaces()
  let depth = 0
  let hasRoot = false
  let started = false
  /** The part begins within a text or a CDATA section that is too long to be held. */
  let long: 'text' | 'CDATA' | undefined

  const scanFrom = (part: Buffer, text: string, start: number, isLast: boolean, runs: Run[]): number => {
    const { length } = text
    const issue = (at: number, what: string) =>
      new AppError(
        'malformed',
        `The body holds "{{" but is not XML that values can be put into: ${what}, at ${places.at(part, at)}. Expressions may stand in text, attribute values and CDATA.`,
      )

    /** Result for markup that is incomplete or invalid: `INCOMPLETE` while more bytes may come, else an error. */
    const incomplete = (from: number, at: number, what: string): typeof INCOMPLETE => {
      if (!isLast && length - from <= limits.heldBytes) return INCOMPLETE
      if (!isLast && text.slice(from).includes('{{')) throw tooLong(limits.heldBytes)
      throw issue(at, what)
    }

    const startTag = (from: number): number => {
      TAG.lastIndex = from
      if (!TAG.test(text)) return incomplete(from, from, 'a "<" without a name behind it')
      const occurrences: Run[] = []
      let attributes = 0
      let at = TAG.lastIndex
      for (;;) {
        ATTRIBUTE.lastIndex = at
        const quote = ATTRIBUTE.exec(text)?.[1]
        if (quote === undefined) break
        const begin = ATTRIBUTE.lastIndex
        const end = text.indexOf(quote, begin)
        if (end === -1) return incomplete(from, begin, 'an attribute value without an end')
        if (text.slice(begin, end).includes('<')) throw issue(begin, 'an attribute value with a "<"')
        if (++attributes > limits.together) throw issue(from, 'a tag with too many attributes')
        occurrences.push({ place: 'attribute', from: begin, to: end })
        at = end + 1
      }
      TAG_END.lastIndex = at
      if (!TAG_END.test(text)) return incomplete(from, at, 'a tag that is not well formed')
      if (depth === 0 && hasRoot) throw issue(from, 'a second root element')
      hasRoot = true
      const end = TAG_END.lastIndex
      if (text[end - 2] !== '/') depth++
      if (end - from > limits.heldBytes && text.slice(from, end).includes('{{'))
        throw tooLong(limits.heldBytes)
      runs.push(...occurrences)
      return end
    }

    const endTag = (from: number): number => {
      END_TAG.lastIndex = from
      if (!END_TAG.test(text)) return incomplete(from, from, 'an end tag that is not well formed')
      if (depth === 0) throw issue(from, 'an end tag without a start tag')
      depth--
      return END_TAG.lastIndex
    }

    const closed = (from: number, end: number, what: string): number => {
      if (text.slice(from, end).includes('{{')) throw misplaced(what, places.at(part, from))
      return end
    }

    const comment = (from: number): number => {
      const end = text.indexOf('--', from + 4)
      if (end === -1 || (end + 2 === length && !isLast))
        return incomplete(from, from, 'a comment without an end')
      if (text[end + 2] !== '>') throw issue(end, 'a "--" in a comment')
      return closed(from, end + 3, 'a comment')
    }

    const instruction = (from: number): number => {
      const end = text.indexOf('?>', from + 2)
      if (end === -1) return incomplete(from, from, 'a processing instruction without an end')
      const declared = started ? undefined : DECLARED.exec(text.slice(from, end))?.[1]
      if (declared !== undefined && !UTF8.test(declared))
        throw issue(from, 'a declaration of an encoding other than UTF-8')
      return closed(from, end + 2, 'a processing instruction')
    }

    const docType = (from: number): number => {
      if (hasRoot) throw issue(from, 'a DOCTYPE behind the root element')
      for (let at = from + MARK; ; ) {
        DOCTYPE_MARK.lastIndex = at
        const mark = DOCTYPE_MARK.exec(text)?.[0]
        if (mark === '>') return closed(from, DOCTYPE_MARK.lastIndex, 'a DOCTYPE')
        if (mark === '[') throw issue(from, 'a DOCTYPE with an internal subset')
        const end = mark === undefined ? -1 : text.indexOf(mark, DOCTYPE_MARK.lastIndex)
        if (end === -1) return incomplete(from, from, 'a DOCTYPE without an end')
        at = end + 1
      }
    }

    /** To `end`; -1: it continues after the part, except the last `overlap` bytes, which may belong to its end. */
    const run = (place: 'text' | 'CDATA', from: number, end: number, overlap: number): number => {
      if (end === -1 && isLast && place === 'CDATA') throw issue(from, 'a CDATA section without an end')
      const isLong = long !== undefined || (end === -1 ? length : end) - from > limits.heldBytes
      if (end === -1 && !isLast && !isLong) return INCOMPLETE
      const to = end !== -1 ? end : isLast ? length : Math.max(from, length - overlap)
      if (isLong && text.slice(from, end === -1 ? length : end).includes('{{'))
        throw tooLong(limits.heldBytes)
      if (depth === 0 && /[^ \t\r\n]/.test(text.slice(from, to)))
        throw issue(from, 'text outside of the root element')
      long = end === -1 && !isLast ? place : undefined
      if (!isLong) runs.push({ place, from, to })
      return to
    }

    const markup = (from: number): number => {
      if (!isLast && length - from < MARK) return INCOMPLETE
      const next = text[from + 1]
      if (next === '/') return endTag(from)
      if (next === '?') return instruction(from)
      if (next !== '!') return startTag(from)
      if (text.startsWith('--', from + 2)) return comment(from)
      if (text.startsWith('[CDATA[', from + 2)) {
        const begin = from + MARK
        const end = run('CDATA', begin, text.indexOf(']]>', begin), 2)
        return end === INCOMPLETE || long !== undefined ? end : end + 3
      }
      if (text.startsWith('DOCTYPE', from + 2)) return docType(from)
      throw issue(from, 'a "<!" that begins neither a comment, nor CDATA, nor a DOCTYPE')
    }

    let at = start
    while (at < length) {
      let end: number
      if (long === 'CDATA') {
        end = run('CDATA', at, text.indexOf(']]>', at), 2)
        if (long === undefined) end += 3
      } else if (text[at] !== '<') end = run('text', at, text.indexOf('<', at), 1)
      else {
        long = undefined
        end = markup(at)
      }
      if (end === INCOMPLETE) return at
      if (end === at && !isLast) return at
      at = end
      started = true
      if (long !== undefined) return at
    }
    if (isLast && (depth > 0 || !hasRoot || long !== undefined)) throw issue(length, 'the end, too early')
    return at
  }

  const replaceIn = (part: Buffer, text: string, { place, from, to }: Run): readonly Occurrence[] => {
    const inner = text.slice(from, to)
    if (!inner.includes('{{')) return []
    const here = `At ${places.at(part, from)}`
    const pieces = inPlace(here, () => scanText(inner))
    if (pieces.length > 2 * limits.together) throw tooManyTogether(limits.together)
    if (place !== 'CDATA')
      for (const { kind, start, end } of pieces)
        if (kind === 'literal' && !hasWholeReferences(inner.slice(start, end)))
          throw new AppError(
            'malformed',
            `${here}: A text with an expression has a "&" that begins no reference. Write "&amp;".`,
          )
    const writing: Writing = {
      encoding: 'utf8',
      read: (expression) => {
        const template = expressions.parse(place === 'CDATA' ? expression : unescapeXml(expression))
        if (!template.single)
          throw badExpression(
            'An expression has braces written as references. Write "{{" and "}}" as they are.',
          )
        return template
      },
      write: (value) => escapeXml(value, place),
      place: (position) => places.at(part, position),
    }
    return replacePieces(part, from, { pieces, end: inner.length }, writing)
  }

  return {
    encoding: 'utf8',
    mayHold: (bytes) => bytes.includes('{{') || bytes.includes(UTF16_PAIR),
    scan(part, isLast) {
      const text = part.toString('latin1')
      const hasMark = !started && text.startsWith(BYTE_ORDER_MARK)
      if (!started && !isLast && text.length < MARK) return { end: 0, occurrences: [] }
      const runs: Run[] = []
      const end = scanFrom(part, text, hasMark ? 3 : 0, isLast, runs)
      const occurrences = runs.flatMap((run) => replaceIn(part, text, run))
      places.passed(part, end)
      return { end, occurrences }
    },
  }
}
