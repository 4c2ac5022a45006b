import type { Expressions, Resolve } from '../../expressions/types.ts'
import type { Work } from '../../expressions/work.ts'
import { createJsonScanner, type FoundString } from './json-scan.ts'
import type { BodyLimits } from './limits.ts'
import { type Found, findInSlices, PASS, type Plan, planOf } from './plan.ts'

const ESCAPED_PAIR = /(?:\{|\\u007[bB])(?:\{|\\u007[bB])/

/** Whether JSON text may hold `{{`, escaped or not. */
export const mayHoldPair = (json: Buffer): boolean =>
  json.includes('{{') ||
  ((json.includes('\\u007b') || json.includes('\\u007B')) && ESCAPED_PAIR.test(json.toString('latin1')))

/** Strings to JSON: the value itself when a string is exactly one expression, else a string. */
export const replaceStrings = (found: readonly FoundString[], expressions: Expressions): readonly Found[] =>
  found.map(({ start, end, text }) => ({
    start,
    end,
    parse: () => {
      const template = expressions.parse(text)
      return {
        ids: template.ids,
        text,
        print: (resolve: Resolve, work: Work) => JSON.stringify(template.evaluate(resolve, work)),
      }
    },
  }))

/**
 * JSON: string literals in value position that hold `{{` are replaced; nothing else changes. Without `{{`, valid or not,
 * the body passes. Rejects with `malformed` and `bad_expression`.
 */
export const planJson = async (body: Buffer, expressions: Expressions, limits: BodyLimits): Promise<Plan> => {
  if (!mayHoldPair(body)) return PASS
  const scanner = createJsonScanner({ depth: limits.jsonDepth, literal: Number.POSITIVE_INFINITY })
  const found = await findInSlices(body, limits.expressions, (slice, isLast) => {
    const scanned = scanner.scan(slice, isLast)
    return { end: scanned.end, found: replaceStrings(scanned.found, expressions) }
  })
  return planOf(body, found, limits.rewrittenBytes)
}
