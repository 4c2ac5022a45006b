import { badExpression } from '../../expressions/faults.ts'
import { createTextScanner, type Piece } from '../../expressions/scan.ts'
import type { Expressions, Resolve } from '../../expressions/types.ts'
import type { Work } from '../../expressions/work.ts'
import type { Charset } from './content.ts'
import type { BodyLimits } from './limits.ts'
import { type Found, findInSlices, PASS, type Plan, planOf } from './plan.ts'

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

/** All of `[0, end)` that is no literal: expressions, with the white space that they eat. */
export const replacePieces = (
  body: Buffer,
  { pieces, end }: { readonly pieces: readonly Piece[]; readonly end: number },
  charset: Charset,
  expressions: Expressions,
): readonly Found[] => {
  const found: Found[] = []
  const encoding = encodingOf(charset)
  const [first] = pieces
  const eaten = first === undefined ? end : first.kind === 'literal' ? first.start : 0
  if (eaten > 0) found.push({ start: 0, end: eaten, parse: () => ({ ids: [], text: '', print: () => '' }) })
  let from = 0
  for (const [at, piece] of pieces.entries()) {
    if (piece.kind === 'literal') {
      from = piece.end
      continue
    }
    const next = pieces[at + 1]
    const to = next === undefined ? end : next.kind === 'literal' ? next.start : piece.end
    const parse = () => {
      const text = body.toString(encoding, piece.start, piece.end)
      const template = expressions.parse(text)
      const print = (resolve: Resolve, work: Work) => checked(template.render(resolve, work), charset)
      return { ids: template.ids, text, print }
    }
    found.push({ start: from, end: to, parse })
    from = to
  }
  return found
}

/**
 * Any text: expressions are replaced by the text of their values, nothing is escaped, all other bytes stay. Bytes are
 * looked at as latin1, so that one character is one byte and text that is not valid in its charset survives.
 * Rejects with `bad_expression` and `too_large`.
 */
export const planText = async (
  body: Buffer,
  charset: Charset,
  expressions: Expressions,
  limits: BodyLimits,
): Promise<Plan> => {
  if (!body.includes('{{')) return PASS
  const scanner = createTextScanner(Number.POSITIVE_INFINITY)
  const found = await findInSlices(body, limits.expressions, (slice, isLast) => {
    const scanned = scanner.scan(slice.toString('latin1'), isLast)
    return { end: scanned.end, found: replacePieces(slice, scanned, charset, expressions) }
  })
  return planOf(body, found, limits.rewrittenBytes, encodingOf(charset))
}
