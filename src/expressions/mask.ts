import { isObject, type Json } from '../common/json.ts'
import { LIMITS } from './limits.ts'
import type { StoredExpression } from './types.ts'
import { weigh } from './values.ts'
import type { Work } from './work.ts'

/** A compiled mask: every string inside is an expression; the structure stays. Throws `invalid_expression`. */
export type Mask = (variables: Readonly<Record<string, Json>>, work: Work) => Json

/** Parses each expression of a mask once. Throws `invalid_expression`. */
export const compileMask = (mask: Json, parse: (text: string) => StoredExpression): Mask => {
  if (typeof mask === 'string') {
    const expression = parse(mask)
    return (variables, work) => {
      const masked = expression.evaluate(variables, work)
      weigh(masked, (characters) => work.use(characters * LIMITS.printed))
      return masked
    }
  }
  if (Array.isArray(mask)) {
    const items = mask.map((item: Json) => compileMask(item, parse))
    return (variables, work) => items.map((item) => item(variables, work))
  }
  if (!isObject(mask)) return () => mask
  const members = Object.entries(mask).map(
    ([name, item]) => [name, compileMask(item as Json, parse)] as const,
  )
  return (variables, work) =>
    Object.fromEntries(members.map(([name, member]) => [name, member(variables, work)]))
}
