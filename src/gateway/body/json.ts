import { tooMany } from '../../expressions/scan.ts'
import type { Expressions, Resolve } from '../../expressions/types.ts'
import type { Work } from '../../expressions/work.ts'
import { scanJson } from './json-scan.ts'
import type { BodyLimits } from './limits.ts'
import { PASS, type Plan, planOf } from './plan.ts'

const ESCAPED_PAIR = /(?:\{|\\u007[bB])(?:\{|\\u007[bB])/

const mayHold = (body: Buffer): boolean =>
  body.includes('{{') ||
  ((body.includes('\\u007b') || body.includes('\\u007B')) && ESCAPED_PAIR.test(body.toString('latin1')))

/**
 * JSON: string literals in value position that hold `{{` are replaced by JSON: the value itself when the string is
 * exactly one expression, else a string. Nothing else changes. Without `{{`, valid or not, the body passes.
 * Throws `malformed` and `bad_expression`.
 */
export const planJson = (body: Buffer, expressions: Expressions, limits: BodyLimits): Plan => {
  if (!mayHold(body)) return PASS
  const found = scanJson(body, limits.jsonDepth)
  if (found.length > limits.expressions) throw tooMany()
  const replacements = found.map(({ start, end, text }) => {
    const template = expressions.parse(text)
    return {
      start,
      end,
      ids: template.ids,
      text,
      print: (resolve: Resolve, work: Work) => JSON.stringify(template.evaluate(resolve, work)),
    }
  })
  return planOf(body, replacements, limits.rewrittenBytes)
}
