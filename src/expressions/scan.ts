import { AppError } from '../common/errors.ts'
import { badExpression } from './errors.ts'
import { LIMITS } from './limits.ts'

/** Text between expressions, `[start, end)`; white space that a `{{-` or `-}}` eats is already left out. */
interface LiteralPiece {
  readonly kind: 'literal'
  readonly start: number
  readonly end: number
}

/** One `{{ … }}`. `[start, end)` holds the braces too. */
export interface ExpressionPiece {
  readonly kind: 'expression'
  readonly start: number
  readonly end: number
  /** What stands before the first `|`, trimmed; a token id or a literal. */
  readonly head: string
  /** The filters, beginning with `|`; empty when there is none. */
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

/** Index behind the string that opens at `at`, or -1 when it does not close before `limit`. */
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

/** Index behind a quoted head, or -1 when the quote belongs to a token id (`'tis-an-id`). */
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
      : 'An expression is opened by "{{" but not closed by "}}". Close it, or send the text without "{{".',
  )

interface Expression extends ExpressionPiece {
  readonly trimBefore: boolean
  readonly trimAfter: boolean
}

/** The head rule of completions §6: ids are never handed to a Liquid parser. */
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

/** `too_large`: a text or body has more expressions than can be served in bounded time. */
export const tooMany = (): AppError =>
  new AppError(
    'too_large',
    `There are more than ${LIMITS.expressions} expressions in one body. Send it in several parts.`,
  )

const trimmedEnd = (text: string, start: number, end: number): number => {
  let at = end
  while (at > start && isBlank(text.charCodeAt(at - 1))) at--
  return at
}

/** Scans one text, as a whole or in parts. */
export interface TextScanner {
  /**
   * Goes on where the last call stopped: `end` is how much of `part` is decided, and the rest of it begins the next part.
   * What lies before `end` and in no piece is white space that a `-}}` or `{{-` eats. Throws as `scanText` does.
   */
  scan(part: string, isLast: boolean): { readonly pieces: readonly Piece[]; readonly end: number }
}

const manyBlanks = () =>
  new AppError(
    'too_large',
    `More than ${LIMITS.blanks} characters of white space stand before a "{{-". Send fewer.`,
  )

/** For a text in parts no more than LIMITS.blanks characters of white space wait for a `{{-` behind them. */
export const createTextScanner = (blanks: number = LIMITS.blanks): TextScanner => {
  /** White space that the next part begins with belongs to a `-}}`. */
  let trimming = false
  /** So many characters of white space, just before the next part, have been let go. */
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
        // What an expression is may depend on all that it may hold.
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
      // Only what goes on with white space from its very beginning goes on counting.
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
 * Splits a text at its expressions; empty literals are left out. Linear in the text's length. `text` may also be bytes
 * read as latin1: only ASCII is looked at. Throws `invalid_expression` on an unclosed, empty or overlong `{{ }}`, `too_large`
 * on too many.
 */
export const scanText = (text: string): readonly Piece[] =>
  createTextScanner(Number.POSITIVE_INFINITY).scan(text, true).pieces
