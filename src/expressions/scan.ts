import { AppError } from '../common/errors.ts'
import { badExpression } from './faults.ts'
import { LIMITS } from './limits.ts'

/** Text between expressions, `[start, end)`; white space that a `{{-` or `-}}` eats is already left out. */
export interface LiteralPiece {
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
const scanExpression = (text: string, start: number): Expression => {
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

/**
 * Splits a text at its expressions; empty literals are left out. Linear in the text's length. `text` may also be bytes
 * read as latin1: only ASCII is looked at. Throws `bad_expression` on an unclosed, empty or overlong `{{ }}`, `too_large`
 * on too many.
 */
export const scanText = (text: string): readonly Piece[] => {
  const pieces: Piece[] = []
  let expressions = 0
  let from = 0
  for (let open = text.indexOf(OPEN); open !== -1; open = text.indexOf(OPEN, from)) {
    if (++expressions > LIMITS.expressions) throw tooMany()
    const { trimBefore, trimAfter, ...piece } = scanExpression(text, open)
    const end = trimBefore ? trimmedEnd(text, from, open) : open
    if (end > from) pieces.push({ kind: 'literal', start: from, end })
    pieces.push(piece)
    from = trimAfter ? skipBlanks(text, piece.end, text.length) : piece.end
  }
  if (from < text.length) pieces.push({ kind: 'literal', start: from, end: text.length })
  return pieces
}
