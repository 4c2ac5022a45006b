import type { Json } from '../common/json.ts'
import { badExpression } from './errors.ts'
import { LIMITS } from './limits.ts'
import type { Work } from './work.ts'

/** Bytes on their way through a filter chain, e.g. from `hmac`. As a result, or in a filter that wants text: base64. */
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
  badExpression('An expression yields more than may be sent. Select a smaller part of the token.')

/** Nodes that are looked at before they are counted. */
const STRETCH = 1_024

/**
 * The size of a value in characters, some for each element and member (limits.ts), given to `count` while it is walked.
 * Throws when it is larger than may be handled, and what `count` throws.
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
      if (!Number.isFinite(value)) throw badExpression('An expression yields something that is not a number.')
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

/** What a plugin's filter yielded, as JSON: undefined is null, bytes are base64. */
export const toJson = (value: unknown): Json => {
  weigh(value, () => {})
  return jsonOf(value)
}

/** What a chain of filters yielded. Lists and objects in it are JSON already: no filter makes anything else. */
export const resultOf = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !(value instanceof Bytes) ? (value as Json) : jsonOf(value)

/** A value inside other text: objects and arrays as JSON, null as empty (completions §6). */
export const toText = (value: unknown): string => {
  if (typeof value === 'string') return value
  const json = resultOf(value)
  if (json === null) return ''
  return typeof json === 'object' ? JSON.stringify(json) : String(json)
}

/** The same, counted: printing a large value costs as much as a filter over it. */
export const inText = (value: unknown, work: Work): string => {
  if (typeof value === 'object') weigh(value, (characters) => work.use(characters * LIMITS.printed))
  return toText(value)
}
