import { isObject } from '../common/json.ts'
import { allows, asSchema, branches, type JsonSchema } from './json-schema.ts'

type Prune = (value: unknown) => unknown

const same: Prune = (value) => value

/** An object schema with named members only. */
const isClosed = (schema: JsonSchema) =>
  schema.properties !== undefined && schema.additionalProperties !== true

const pruneObject = (schema: JsonSchema): Prune => {
  const members = Object.entries(schema.properties ?? {}).map(
    ([name, child]) => [name, pruneOf(child)] as const,
  )
  const patterns = Object.entries(schema.patternProperties ?? {}).map(
    ([pattern, child]) => [new RegExp(pattern, 'u'), pruneOf(child)] as const,
  )
  const rest = isObject(schema.additionalProperties) ? pruneOf(schema.additionalProperties) : undefined
  const names = new Set(members.map(([name]) => name))
  return (value) => {
    if (!isObject(value)) return value
    const pruned: Record<string, unknown> = {}
    for (const [name, prune] of members) {
      if (!Object.hasOwn(value, name) || value[name] === undefined) continue
      pruned[name] = prune(value[name])
    }
    if (patterns.length === 0 && rest === undefined) return pruned
    const others: [string, unknown][] = []
    for (const name of Object.keys(value)) {
      if (names.has(name) || value[name] === undefined) continue
      const prune = patterns.find(([pattern]) => pattern.test(name))?.[1] ?? rest
      if (prune !== undefined) others.push([name, prune(value[name])])
    }
    // fromEntries defines members: one called `__proto__` stays plain data.
    return Object.assign(Object.fromEntries(others), pruned)
  }
}

const pruneOf = (schema: JsonSchema): Prune => {
  if (schema.anyOf ?? schema.oneOf) {
    const structured = branches(schema).filter(
      (branch) => allows(branch, 'object') || allows(branch, 'array'),
    )
    // With several candidates, validation distinguishes them, by members that this could remove.
    return structured.length === 1 ? pruneOf(structured[0]!) : same
  }
  if (schema.items !== undefined && !Array.isArray(schema.items)) {
    const prune = pruneOf(asSchema(schema.items))
    return (value) => (Array.isArray(value) ? value.map(prune) : value)
  }
  if (isClosed(schema) || schema.patternProperties !== undefined || isObject(schema.additionalProperties))
    return pruneObject(schema)
  return same
}

/**
 * Compiles a function that copies a value with only the declared members, at any depth; values that the schema leaves
 * free stay as they are. A value of another shape is left for validation to reject. Input: unknown members are ignored
 * (completions §1). Output: only declared and defined members.
 */
export const compilePrune = (schema: unknown): Prune => pruneOf(asSchema(schema))
