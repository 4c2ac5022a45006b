import { isObject } from '../common/json.ts'
import { allows, asSchema, branches, type JsonSchema } from './json-schema.ts'

type Pick = (value: unknown) => unknown

const same: Pick = (value) => value

/** An object schema that names its members and does not ask for others. */
const isClosed = (schema: JsonSchema) =>
  schema.properties !== undefined && schema.additionalProperties !== true

const objectPick = (schema: JsonSchema): Pick => {
  const members = Object.entries(schema.properties ?? {}).map(
    ([name, child]) => [name, pickOf(child)] as const,
  )
  const patterns = Object.entries(schema.patternProperties ?? {}).map(
    ([pattern, child]) => [new RegExp(pattern, 'u'), pickOf(child)] as const,
  )
  const rest = isObject(schema.additionalProperties) ? pickOf(schema.additionalProperties) : undefined
  const names = new Set(members.map(([name]) => name))
  return (value) => {
    if (!isObject(value)) return value
    const picked: Record<string, unknown> = {}
    for (const [name, pick] of members) {
      if (!Object.hasOwn(value, name) || value[name] === undefined) continue
      picked[name] = pick(value[name])
    }
    if (patterns.length === 0 && rest === undefined) return picked
    const others: [string, unknown][] = []
    for (const name of Object.keys(value)) {
      if (names.has(name) || value[name] === undefined) continue
      const pick = patterns.find(([pattern]) => pattern.test(name))?.[1] ?? rest
      if (pick !== undefined) others.push([name, pick(value[name])])
    }
    // fromEntries defines members: one called `__proto__` stays plain data.
    return Object.assign(Object.fromEntries(others), picked)
  }
}

const pickOf = (schema: JsonSchema): Pick => {
  if (schema.anyOf ?? schema.oneOf) {
    const structured = branches(schema).filter(
      (branch) => allows(branch, 'object') || allows(branch, 'array'),
    )
    // With several candidates it is validation that tells them apart, by members this could take away.
    return structured.length === 1 ? pickOf(structured[0]!) : same
  }
  if (schema.items !== undefined && !Array.isArray(schema.items)) {
    const pick = pickOf(asSchema(schema.items))
    return (value) => (Array.isArray(value) ? value.map(pick) : value)
  }
  if (isClosed(schema) || schema.patternProperties !== undefined || isObject(schema.additionalProperties))
    return objectPick(schema)
  return same
}

/**
 * A function that copies a value with only the members its schema names, at any depth; values the schema leaves free
 * are passed on as they are. What does not fit the schema's shape is left for validation to refuse. Input: unknown
 * members are ignored (completions §1). Output: nothing that is not declared is answered, and nothing undefined.
 */
export const compilePick = (schema: unknown): Pick => pickOf(asSchema(schema))
