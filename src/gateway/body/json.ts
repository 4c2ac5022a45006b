import { tooMany } from '../../expressions/scan.ts'
import type { Expressions, Resolve } from '../../expressions/types.ts'
import type { Work } from '../../expressions/work.ts'
import { type FoundString, scanJson } from './json-scan.ts'
import type { BodyLimits } from './limits.ts'
import { PASS, type Plan, planOf, type Replacement } from './plan.ts'

const ESCAPED_PAIR = /(?:\{|\\u007[bB])(?:\{|\\u007[bB])/

/** Whether JSON text may hold `{{`, escaped or not. */
export const mayHoldPair = (json: Buffer): boolean =>
  json.includes('{{') ||
  ((json.includes('\\u007b') || json.includes('\\u007B')) && ESCAPED_PAIR.test(json.toString('latin1')))

/** Strings to JSON: the value itself when a string is exactly one expression, else a string. Throws `bad_expression`. */
export const replaceStrings = (
  found: readonly FoundString[],
  expressions: Expressions,
): readonly Replacement[] =>
  found.map(({ start, end, text }) => {
    const template = expressions.parse(text)
    return {
      start,
      end,
      ids: template.ids,
      text,
      print: (resolve: Resolve, work: Work) => JSON.stringify(template.evaluate(resolve, work)),
    }
  })

/**
 * JSON: string literals in value position that hold `{{` are replaced; nothing else changes. Without `{{`, valid or not,
 * the body passes. Throws `malformed` and `bad_expression`.
 */
export const planJson = (body: Buffer, expressions: Expressions, limits: BodyLimits): Plan => {
  if (!mayHoldPair(body)) return PASS
  const found = scanJson(body, limits.jsonDepth)
  if (found.length > limits.expressions) throw tooMany()
  return planOf(body, replaceStrings(found, expressions), limits.rewrittenBytes)
}
