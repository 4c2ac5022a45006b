import { isObject, type Json, pointerParts } from '../../common/json.ts'
import type { Expressions } from '../../expressions/types.ts'
import { branches, type JsonSchema } from '../json-schema.ts'

/** Two sample strings and two sample numbers for expressions and filters. */
export const SAMPLES = [
  { string: '4242424242424242', number: 12 },
  { string: '5105105105105100', number: 97 },
] as const

type Sample = (typeof SAMPLES)[number]

/** Data that roughly fits the schema, with all its members. */
export const example = (schema: JsonSchema, sample: Sample): Json => {
  const branch = branches(schema).find((candidate) => candidate.type !== 'null') ?? schema
  if (branch !== schema) return example(branch, sample)
  const types = Array.isArray(schema.type) ? schema.type : [schema.type]
  if (schema.properties !== undefined)
    return Object.fromEntries(
      Object.entries(schema.properties).map(([name, child]) => [name, example(child, sample)]),
    )
  if (types.includes('array'))
    return isObject(schema.items) ? [example(schema.items as JsonSchema, sample)] : [sample.string]
  if (types.includes('string')) return sample.string
  if (types.includes('integer') || types.includes('number')) return sample.number
  if (types.includes('boolean')) return sample === SAMPLES[0]
  return types.includes('object') ? {} : sample.string
}

/** A copy of the value with another one at a pointer. */
export const replacedAt = (value: Json, [head, ...rest]: readonly string[], by: Json): Json => {
  if (head === undefined) return by
  if (Array.isArray(value))
    return value.map((item, index) => (String(index) === head ? replacedAt(item, rest, by) : item))
  const members = isObject(value) ? (value as Record<string, Json>) : {}
  return { ...members, [head]: replacedAt(members[head] ?? {}, rest, by) }
}

const strings = (value: Json): string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap((item) => strings(item as Json))
      : []

const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** True when some expression of the mask names the member: `data.a.b`, `data['a'].b`, `json: '$.a.b'`. */
const names = (mask: Json, parts: readonly string[]) => {
  const steps = parts.map(
    (part) => `(?:\\.\\s*${escaped(part)}(?![\\w-])|\\[\\s*['"]${escaped(part)}['"]\\s*\\])`,
  )
  const path = new RegExp(`(?:\\bdata|\\$)\\s*${steps.join('\\s*')}`)
  return strings(mask).some((text) => path.test(text))
}

/**
 * True when the mask discloses something of the member at `pointer`: it names it, or its result differs for data that
 * differ only there (which also detects `{{ data }}` and filters over it).
 */
export const shows = (mask: Json, pointer: string, data: JsonSchema, expressions: Expressions): boolean => {
  const parts = pointerParts(pointer)
  if (parts.length > 0 && names(mask, parts)) return true
  const base = example(data, SAMPLES[0])
  const results = SAMPLES.flatMap((sample) => [sample.string, sample.number]).map((value) => {
    try {
      return JSON.stringify(expressions.evaluateMask(mask, { data: replacedAt(base, parts, value) }))
    } catch {
      return undefined
    }
  })
  return new Set(results.filter((result) => result !== undefined)).size > 1
}
