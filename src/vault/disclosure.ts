import type { Json } from '../common/json.ts'
import { isObject, without } from '../common/json.ts'
import type { Expressions } from '../expressions/types.ts'
import type { Disclosure, Work } from '../sdk/index.ts'
import { type Opened, wholeData } from './seal.ts'
import type { CompiledType } from './token-types.ts'

/** The data that expressions of callers, and responses, may hold: nothing of what is never returned. */
export const omitNeverReturned = (type: CompiledType, data: Json): Json =>
  type.never.reduce<Json>((rest, at) => (at === '' ? null : (without(rest, at) as Json)), data)

/** The mask in force: the token's own, else its type's. */
export const maskOf = (type: CompiledType | undefined, opened: Opened): Json | undefined =>
  opened.mask ?? type?.mask

/** Members of a mask that came out null stand for data that is not there: unset members are left out (completions §1). */
const withoutUnset = (mask: Json, masked: Json): Json =>
  isObject(mask) && isObject(masked)
    ? (Object.fromEntries(
        Object.entries(masked)
          .filter(([name, value]) => value !== null || mask[name] === null)
          .map(([name, value]) => [name, withoutUnset(mask[name] as Json, value as Json)]),
      ) as Json)
    : masked

/** The mask evaluated over the data, undefined when there is no mask. Throws `invalid_expression`. */
export const maskedData = (
  expressions: Expressions,
  type: CompiledType,
  opened: Opened,
  work?: Work,
): Json | undefined => {
  const mask = maskOf(type, opened)
  if (mask === undefined) return undefined
  const variables = { data: omitNeverReturned(type, wholeData(opened)) }
  return withoutUnset(mask, expressions.evaluateMask(mask, variables, work))
}

/**
 * What a caller sees of a token's data (completions §4); undefined: nothing. `purpose` `use` (code and proxies) keeps
 * the members that the API never returns. `work`: what the masks of the whole call may cost. A type that is not installed discloses nothing: what it hides is unknown.
 */
export const disclosedData = (
  expressions: Expressions,
  type: CompiledType | undefined,
  opened: Opened,
  disclosure: Disclosure,
  purpose: 'show' | 'use',
  work?: Work,
): Json | undefined => {
  if (type === undefined || disclosure === 'redact') return undefined
  if (disclosure === 'mask') return maskedData(expressions, type, opened, work)
  const data = wholeData(opened)
  return purpose === 'use' ? data : omitNeverReturned(type, data)
}
