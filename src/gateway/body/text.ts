import { badExpression } from '../../expressions/faults.ts'
import { type ExpressionPiece, scanText } from '../../expressions/scan.ts'
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
  const encoding = charset === 'utf8' ? 'utf8' : 'latin1'
  const text = body.toString('latin1')
  const replacements: Replacement[] = []
  const add = ({ start, end }: ExpressionPiece, from: number, to: number) => {
    const expression = body.toString(encoding, start, end)
    const template = expressions.parse(expression)
    const print = (resolve: Resolve, work: Work) => checked(template.render(resolve, work), charset)
    replacements.push({ start: from, end: to, ids: template.ids, text: expression, print })
  }
  const pieces = scanText(text)
  let from = 0
  for (const [at, piece] of pieces.entries()) {
    if (piece.kind === 'literal') {
      from = piece.end
      continue
    }
    const next = pieces[at + 1]
    const to = next === undefined ? text.length : next.kind === 'literal' ? next.start : piece.end
    add(piece, from, to)
    from = to
  }
  return planOf(body, replacements, limits.rewrittenBytes, encoding)
}
