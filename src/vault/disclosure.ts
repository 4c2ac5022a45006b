import type { Json } from '../common/json.ts'
import { isObject, without } from '../common/json.ts'
import type { Expressions } from '../expressions/types.ts'
import type { Disclosure, Work } from '../sdk/index.ts'
import { completeData, type Opened } from './seal.ts'
import type { CompiledType } from './token-types.ts'

/** Data for expressions of callers and for responses: without write-only members. */
export const omitWriteOnly = (type: CompiledType, data: Json): Json =>
  type.writeOnly.reduce<Json>((rest, at) => (at === '' ? null : (without(rest, at) as Json)), data)

/** The effective mask: the token's own, else its type's. */
export const maskOf = (type: CompiledType | undefined, opened: Opened): Json | undefined =>
  opened.mask ?? type?.mask

/** Removes null members of an evaluated mask: they stand for absent data (completions §1). */
const withoutUnset = (mask: Json, masked: Json): Json =>
  isObject(mask) && isObject(masked)
    ? (Object.fromEntries(
        Object.entries(masked)
          .filter(([name, value]) => value !== null || mask[name] === null)
          .map(([name, value]) => [name, withoutUnset(mask[name] as Json, value as Json)]),
      ) as Json)
    : masked

/** Disclosure that a decision leads to: nothing of a type that is not installed, no mask of a token without one. */
export const effectiveDisclosure = (
  type: CompiledType | undefined,
  hasOwnMask: boolean,
  disclosure: Disclosure,
): Disclosure =>
  type === undefined || (disclosure === 'mask' && !hasOwnMask && type.mask === undefined)
    ? 'redact'
    : disclosure

/** Evaluates the mask over the data; undefined without a mask. Throws `invalid_expression`. */
export const maskedData = (
  expressions: Expressions,
  type: CompiledType,
  opened: Opened,
  work?: Work,
): Json | undefined => {
  const mask = maskOf(type, opened)
  if (mask === undefined) return undefined
  const variables = { data: omitWriteOnly(type, completeData(opened)) }
  return withoutUnset(mask, expressions.evaluateMask(mask, variables, work))
}

/**
 * The data that a caller gets (completions §4); undefined: none. With the purpose `use` (code and proxies) it includes
 * write-only members. `work`: the budget of all masks of the call. A type that is not installed discloses nothing,
 * because its write-only members are unknown.
 */
export const disclosedData = (
  expressions: Expressions,
  type: CompiledType | undefined,
  opened: Opened,
  disclosure: Disclosure,
  purpose: 'show' | 'use',
  work?: Work,
): Json | undefined => {
  const effective = effectiveDisclosure(type, opened.mask !== undefined, disclosure)
  if (type === undefined || effective === 'redact') return undefined
  if (effective === 'mask') return maskedData(expressions, type, opened, work)
  const data = completeData(opened)
  return purpose === 'use' ? data : omitWriteOnly(type, data)
}
