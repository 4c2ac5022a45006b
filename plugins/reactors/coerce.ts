import { type FieldIssue, throwIfInvalid } from '#kit'
import { invalid, isObject, type Json, type Static } from '#sdk'
import type { Elements, ElementType, Parameters } from './parameters.ts'

type Members = Record<string, unknown>

/** Converts a value to a type, or undefined when that is impossible (completions §8: `"123"` → 123). */
const cast = (value: unknown, type: ElementType): string | number | boolean | undefined => {
  if (typeof value === type) return value as string | number | boolean
  if (type === 'string')
    return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  if (type === 'boolean') return /^(true|false)$/i.test(text) ? text.toLowerCase() === 'true' : undefined
  return text !== '' && Number.isFinite(Number(text)) ? Number(text) : undefined
}

/** Converts a formula's configuration to the types of its elements where possible (completions §8). */
export const castConfiguration = (
  elements: Static<typeof Elements>,
  configuration: Readonly<Members>,
): Members => {
  const result: Members = { ...configuration }
  for (const { name, type } of elements)
    if (Object.hasOwn(result, name)) result[name] = cast(result[name], type) ?? result[name]
  return result
}

/**
 * The object that holds `[...parents, last]`. Copies objects on the path once, into `copies`, so that the input does
 * not change.
 */
const parentOf = (args: Members, parents: readonly string[], copies: Set<unknown>): Members | undefined => {
  let current = args
  for (const name of parents) {
    const next = Object.hasOwn(current, name) ? current[name] : {}
    if (!isObject(next)) return undefined
    if (copies.has(next)) {
      current = next as Members
      continue
    }
    const copy = { ...next }
    copies.add(copy)
    current[name] = copy
    current = copy
  }
  return current
}

const kindOf = (type: ElementType) => (type === 'boolean' ? 'true or false' : `a ${type}`)

/**
 * Converts the arguments of an invocation to the types in `parameters`. A dotted name is a member of an object, sent
 * as such or as one member of that name. Undeclared arguments pass. Throws `invalid` with each invalid parameter.
 */
export const castArguments = (parameters: Static<typeof Parameters>, args: Json): Json => {
  if (parameters.length === 0) return args
  if (!isObject(args)) throw invalid({ args: ['must be an object: the formula has request parameters'] })
  const result: Members = { ...args }
  const issues: FieldIssue[] = []
  const copies = new Set<unknown>()
  for (const { name, type, optional } of parameters) {
    const parts = name.split('.')
    const last = parts.at(-1)!
    const flat = parts.length > 1 && Object.hasOwn(result, name) ? result[name] : undefined
    if (flat !== undefined) delete result[name]
    const parent = parentOf(result, parts.slice(0, -1), copies)
    const value = flat ?? (parent && Object.hasOwn(parent, last) ? parent[last] : undefined)
    if (parent === undefined) issues.push([`args.${name}`, 'must lie in an object'])
    else if (value === undefined || value === null) {
      if (!optional) issues.push([`args.${name}`, 'is required by the formula'])
    } else {
      const typed = cast(value, type)
      if (typed === undefined) issues.push([`args.${name}`, `must be ${kindOf(type)}`])
      else parent[last] = typed
    }
  }
  throwIfInvalid(issues)
  return result as Json
}
