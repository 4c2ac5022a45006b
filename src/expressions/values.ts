import type { Json } from '../common/json.ts'
import { badExpression } from './errors.ts'
import { LIMITS } from './limits.ts'
import type { Work } from './work.ts'

/** Bytes within a filter chain, e.g. from `hmac`. As a result, or for a filter that needs text, they are base64. */
export class Bytes {
  readonly buffer: Buffer

  constructor(buffer: Buffer) {
    this.buffer = buffer
  }

  toString(): string {
    return this.buffer.toString('base64')
  }
}

const tooLarge = () =>
  badExpression('The result of an expression is too large. Select a smaller part of the token.')

/** Nodes between two calls of `count`. */
const STRETCH = 1_024

/**
 * Walks a value and passes its size to `count`, in characters, with a weight for each element and member (limits.ts).
 * Throws when the value is too large, and what `count` throws.
 */
export const weigh = (value: unknown, count: (characters: number) => void): void => {
  if (typeof value === 'string' && value.length > LIMITS.result) throw tooLarge()
  if (typeof value !== 'object' || value === null || value instanceof Bytes) {
    count(typeof value === 'string' ? value.length : value instanceof Bytes ? value.buffer.length : 1)
    return
  }
  let nodes = 1
  let uncounted: number = LIMITS.member
  let stretch = STRETCH
  const open: object[] = [value]
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    const isList = Array.isArray(item)
    const children: readonly unknown[] = Array.isArray(item) ? item : Object.values(item)
    const each = isList ? LIMITS.element : children.length > LIMITS.many ? LIMITS.memberOfMany : LIMITS.member
    nodes += children.length
    if (nodes > LIMITS.nodes) throw tooLarge()
    for (const child of children) {
      uncounted += typeof child === 'string' ? each + child.length : each
      if (typeof child === 'object' && child !== null) open.push(child)
      if (--stretch > 0) continue
      count(uncounted)
      uncounted = 0
      stretch = STRETCH
    }
  }
  count(uncounted)
}

const jsonOf = (value: unknown): Json => {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      if (!Number.isFinite(value)) throw badExpression('The result of an expression is not a valid number.')
      return value
    case 'object':
      if (value === null) return null
      if (value instanceof Bytes || value instanceof Date) return String(value)
      if (Array.isArray(value)) return value.map(jsonOf)
      return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, jsonOf(child)]))
    default:
      return null
  }
}

/** Result of a plugin's filter as JSON: undefined is null, bytes are base64. */
export const toJson = (value: unknown): Json => {
  weigh(value, () => {})
  return jsonOf(value)
}

/** Result of a filter chain as JSON. Lists and objects are JSON already: no filter creates others. */
export const resultOf = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !(value instanceof Bytes) ? (value as Json) : jsonOf(value)

/** A value as part of a text: objects and arrays as JSON, null as empty (completions §6). */
export const toText = (value: unknown): string => {
  if (typeof value === 'string') return value
  const json = resultOf(value)
  if (json === null) return ''
  return typeof json === 'object' ? JSON.stringify(json) : String(json)
}

/** `toText` that charges `work`: printing a large value costs as much as a filter. */
export const inText = (value: unknown, work: Work): string => {
  if (typeof value === 'object') weigh(value, (characters) => work.use(characters * LIMITS.printed))
  return toText(value)
}
