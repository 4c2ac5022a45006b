import type { Json } from '../common/json.ts'
import { badExpression } from './faults.ts'
import { LIMITS } from './limits.ts'

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

/**
 * Throws when a value has more nodes or text than may be handled; stops counting there. Values that filters build may
 * hold one part many times, so this comes before anything that walks or prints them whole. Returns nodes and characters.
 */
export const checkWeight = (value: unknown): number => {
  if (typeof value === 'string') {
    if (value.length > LIMITS.result) throw tooLarge()
    return value.length
  }
  if (typeof value !== 'object' || value === null || value instanceof Bytes) return 1
  let nodes = 1
  let characters = 0
  const open: object[] = [value]
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    const children: unknown[] = Array.isArray(item) ? item : Object.values(item)
    nodes += children.length
    if (nodes > LIMITS.nodes) throw tooLarge()
    for (const child of children) {
      if (typeof child === 'string') characters += child.length
      else if (typeof child === 'object' && child !== null) open.push(child)
    }
    if (characters > LIMITS.result) throw tooLarge()
  }
  return nodes + characters
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
      if (Object.getPrototypeOf(value) !== null && Object.getPrototypeOf(value) !== Object.prototype) {
        const plain: unknown = value.valueOf()
        return plain === value ? String(value) : jsonOf(plain)
      }
      return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, jsonOf(child)]))
    default:
      return null
  }
}

/** What a filter chain or a plugin's filter yielded, as JSON: undefined is null, bytes are base64. */
export const toJson = (value: unknown): Json => {
  checkWeight(value)
  return jsonOf(value)
}

/** A value inside other text: objects and arrays as JSON, null as empty (completions §6). */
export const toText = (value: unknown): string => {
  if (typeof value === 'string') return value
  const json = toJson(value)
  if (json === null) return ''
  return typeof json === 'object' ? JSON.stringify(json) : String(json)
}
