import { AppError } from '../common/errors.ts'
import { badExpression } from './errors.ts'
import { LIMITS } from './limits.ts'

/** Text between expressions, `[start, end)`, without white space that a `{{-` or `-}}` trims. */
interface LiteralPiece {
  readonly kind: 'literal'
  readonly start: number
  readonly end: number
}

/** An expression `{{ … }}`. `[start, end)` includes the braces. */
export interface ExpressionPiece {
  readonly kind: 'expression'
  readonly start: number
  readonly end: number
  /** Trimmed text before the first `|`: a token id or a literal. */
  readonly head: string
  /** The filters, starting with `|`; empty when there is none. */
  readonly chain: string
}

export type Piece = LiteralPiece | ExpressionPiece

const OPEN = '{{'
const QUOTE = 0x27
const DOUBLE_QUOTE = 0x22
const BACKSLASH = 0x5c
const PIPE = 0x7c
const BRACE_OPEN = 0x7b
const BRACE = 0x7d
const DASH = 0x2d

/** ASCII white space only: the text may be bytes of any encoding. */
const isBlank = (code: number) => code === 0x20 || (code >= 0x09 && code <= 0x0d)
const isQuote = (code: number) => code === QUOTE || code === DOUBLE_QUOTE

const skipBlanks = (text: string, from: number, limit: number): number => {
  let at = from
  while (at < limit && isBlank(text.charCodeAt(at))) at++
  return at
}

/** Index after the string that opens at `at`, or -1 when it does not close before `limit`. */
const skipString = (text: string, at: number, limit: number): number => {
  const quote = text.charCodeAt(at)
  for (let next = at + 1; next < limit; next++) {
    const code = text.charCodeAt(next)
    if (code === BACKSLASH) next++
    else if (code === quote) return next + 1
  }
  return -1
}

const closesAt = (text: string, at: number) =>
  text.charCodeAt(at) === BRACE && text.charCodeAt(at + 1) === BRACE

/** Index after a quoted head, or -1 when the quote belongs to a token id (`'tis-an-id`). */
const quotedHead = (text: string, from: number, limit: number): number => {
  const end = skipString(text, from, limit)
  if (end === -1) return -1
  let next = skipBlanks(text, end, limit)
  if (text.charCodeAt(next) === DASH) next++
  return text.charCodeAt(next) === PIPE || closesAt(text, next) ? end : -1
}

const unclosed = (tooLong: boolean) =>
  badExpression(
    tooLong
      ? `An expression is longer than ${LIMITS.expression} characters, or its "}}" is missing.`
      : 'An expression starts with "{{" but has no "}}". Close it, or remove the "{{".',
  )

interface Expression extends ExpressionPiece {
  readonly trimBefore: boolean
  readonly trimAfter: boolean
}

/** Scans one expression by the head rule of completions §6: ids are never parsed as Liquid. */
export const scanExpression = (text: string, start: number): Expression => {
  const limit = Math.min(text.length, start + LIMITS.expression)
  const trimBefore = text.charCodeAt(start + 2) === DASH
  const headStart = skipBlanks(text, start + (trimBefore ? 3 : 2), limit)
  let at = isQuote(text.charCodeAt(headStart)) ? quotedHead(text, headStart, limit) : headStart
  if (at === -1) at = headStart
  while (at < limit && text.charCodeAt(at) !== PIPE && !closesAt(text, at)) at++
  const headEnd = at
  while (at < limit && !closesAt(text, at)) {
    if (!isQuote(text.charCodeAt(at))) at++
    else {
      at = skipString(text, at, limit)
      if (at === -1) throw unclosed(limit < text.length)
    }
  }
  if (at >= limit || !closesAt(text, at)) throw unclosed(limit < text.length)
  const trimAfter = text.charCodeAt(at - 1) === DASH && at > headStart
  const contentEnd = trimAfter ? at - 1 : at
  const head = text.slice(headStart, Math.min(headEnd, contentEnd)).trim()
  if (head === '') throw badExpression('An expression is empty. Name a token id between "{{" and "}}".')
  const chain = text.slice(Math.min(headEnd, contentEnd), contentEnd).trim()
  return { kind: 'expression', start, end: at + 2, head, chain, trimBefore, trimAfter }
}

/** `too_large`: a text or body has too many expressions. */
export const tooMany = (): AppError =>
  new AppError(
    'too_large',
    `The body has more than ${LIMITS.expressions} expressions. Send several requests.`,
  )

const trimmedEnd = (text: string, start: number, end: number): number => {
  let at = end
  while (at > start && isBlank(text.charCodeAt(at - 1))) at--
  return at
}

/** Scans one text, complete or in parts. */
export interface TextScanner {
  /**
   * Continues after the last call. `end`: how much of `part` is scanned; the caller prepends the rest to the next part.
   * Text before `end` in no piece is white space that a `-}}` or `{{-` trims. Throws as `scanText` does.
   */
  scan(part: string, isLast: boolean): { readonly pieces: readonly Piece[]; readonly end: number }
}

const manyBlanks = () =>
  new AppError(
    'too_large',
    `More than ${LIMITS.blanks} characters of white space precede a "{{-". Send fewer.`,
  )

/** Scanner for a text in parts. It holds back at most `blanks` characters of white space for a `{{-` after them. */
export const createTextScanner = (blanks: number = LIMITS.blanks): TextScanner => {
  /** The next part's leading white space is trimmed by a `-}}`. */
  let trimming = false
  /** Characters of white space released immediately before the next part. */
  let passed = 0
  return {
    scan(part, isLast) {
      const pieces: Piece[] = []
      let expressions = 0
      let from = trimming ? skipBlanks(part, 0, part.length) : 0
      const literal = (end: number) => {
        if (end > from) pieces.push({ kind: 'literal', start: from, end })
      }
      const started = passed
      if (from < part.length) trimming = false
      for (let open = part.indexOf(OPEN, from); open !== -1; open = part.indexOf(OPEN, from)) {
        // The longest possible expression must be available before it is scanned.
        if (!isLast && part.length < open + LIMITS.expression + OPEN.length) break
        if (++expressions > LIMITS.expressions) throw tooMany()
        const { trimBefore, trimAfter, ...piece } = scanExpression(part, open)
        const end = trimBefore ? trimmedEnd(part, from, open) : open
        if (trimBefore && open - end + (end === 0 ? started : 0) > blanks) throw manyBlanks()
        literal(end)
        pieces.push(piece)
        passed = 0
        from = trimAfter ? skipBlanks(part, piece.end, part.length) : piece.end
        trimming = trimAfter && from === part.length
      }
      if (isLast) {
        literal(part.length)
        return { pieces, end: part.length }
      }
      const open = part.indexOf(OPEN, from)
      const half =
        part.charCodeAt(part.length - 1) === BRACE_OPEN && from < part.length ? part.length - 1 : part.length
      const undecided = open === -1 ? half : open
      let end = trimmedEnd(part, from, undecided)
      const held = undecided - end
      // Only white space that continues from the start of the part adds to the count.
      const before = end === 0 ? started : 0
      passed = 0
      if (held + before > blanks) {
        end = undecided
        passed = held + before
      }
      literal(end)
      return { pieces, end }
    },
  }
}

/**
 * Splits a text at its expressions, without empty literals, in linear time. `text` may also be bytes decoded as latin1:
 * only ASCII matters. Throws `invalid_expression` for an unclosed, empty or overlong `{{ }}`, `too_large` for too many.
 */
export const scanText = (text: string): readonly Piece[] =>
  createTextScanner(Number.POSITIVE_INFINITY).scan(text, true).pieces
