import { badExpression } from '../../expressions/faults.ts'
import { type Piece, scanText } from '../../expressions/scan.ts'
import type { Expressions, Resolve } from '../../expressions/types.ts'
import type { Work } from '../../expressions/work.ts'
import type { Charset } from './content.ts'
import type { BodyLimits } from './limits.ts'
import { PASS, type Plan, planOf, type Replacement } from './plan.ts'

const REPRESENTABLE: Readonly<Record<Charset, RegExp | undefined>> = {
  utf8: undefined,
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the whole range of the encoding
  latin1: /^[\u0000-\u00ff]*$/,
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the whole range of the encoding
  ascii: /^[\u0000-\u007f]*$/,
}

const checked = (text: string, charset: Charset): string => {
  if (REPRESENTABLE[charset]?.test(text) === false)
    throw badExpression("A value has characters that the body's charset cannot hold. Send the body as UTF-8.")
  return text
}

export const encodingOf = (charset: Charset): 'utf8' | 'latin1' => (charset === 'utf8' ? 'utf8' : 'latin1')

/** All of `[0, end)` that is no literal: expressions, with the white space that they eat. Throws `bad_expression`. */
export const replacePieces = (
  body: Buffer,
  { pieces, end }: { readonly pieces: readonly Piece[]; readonly end: number },
  charset: Charset,
  expressions: Expressions,
): readonly Replacement[] => {
  const replacements: Replacement[] = []
  const encoding = encodingOf(charset)
  const [first] = pieces
  const eaten = first === undefined ? end : first.kind === 'literal' ? first.start : 0
  if (eaten > 0) replacements.push({ start: 0, end: eaten, ids: [], text: '', print: () => '' })
  let from = 0
  for (const [at, piece] of pieces.entries()) {
    if (piece.kind === 'literal') {
      from = piece.end
      continue
    }
    const next = pieces[at + 1]
    const to = next === undefined ? end : next.kind === 'literal' ? next.start : piece.end
    const text = body.toString(encoding, piece.start, piece.end)
    const template = expressions.parse(text)
    const print = (resolve: Resolve, work: Work) => checked(template.render(resolve, work), charset)
    replacements.push({ start: from, end: to, ids: template.ids, text, print })
    from = to
  }
  return replacements
}

/**
 * Any text: expressions are replaced by the text of their values, nothing is escaped, all other bytes stay. Bytes are
 * looked at as latin1, so that one character is one byte and text that is not valid in its charset survives.
 * Throws `bad_expression`.
 */
export const planText = (
  body: Buffer,
  charset: Charset,
  expressions: Expressions,
  limits: BodyLimits,
): Plan => {
  if (!body.includes('{{')) return PASS
  const pieces = scanText(body.toString('latin1'))
  const replacements = replacePieces(body, { pieces, end: body.length }, charset, expressions)
  return planOf(body, replacements, limits.rewrittenBytes, encodingOf(charset))
}
