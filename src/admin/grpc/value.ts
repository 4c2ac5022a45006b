import { isObject, type Json } from '../../common/json.ts'
import { checkNames } from '../structure.ts'
import type { WireObject } from './wire.ts'

const entries = (fields: unknown): [string, Json][] => {
  const members = Object.entries((fields ?? {}) as WireObject)
  checkNames(members.length)
  return members.map(([name, value]) => [name, fromValue(value)])
}

/** The object of a `google.protobuf.Struct`. `fromEntries` defines members: one called `__proto__` is plain data. */
export const fromStruct = (struct: unknown): Json =>
  Object.fromEntries(entries((struct as WireObject).fields))

/** The JSON of a `google.protobuf.Value`; null when no member is set. Throws on numbers that JSON cannot express. */
export const fromValue = (value: unknown): Json => {
  const wire = value as {
    readonly number_value?: number
    readonly string_value?: string
    readonly bool_value?: boolean
    readonly struct_value?: unknown
    readonly list_value?: { readonly values?: readonly unknown[] }
  }
  const has = (name: keyof typeof wire) => Object.hasOwn(wire, name)
  if (has('string_value')) return wire.string_value!
  if (has('struct_value')) return fromStruct(wire.struct_value)
  if (has('list_value')) return (wire.list_value?.values ?? []).map(fromValue)
  if (has('bool_value')) return wire.bool_value!
  if (!has('number_value')) return null
  const number = wire.number_value!
  if (!Number.isFinite(number)) throw new Error('a number is not finite')
  return number
}

/** A JSON object as a `google.protobuf.Struct`. */
export const toStruct = (object: Readonly<Record<string, unknown>>): WireObject => ({
  fields: Object.fromEntries(
    Object.entries(object)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, toValue(value)]),
  ),
})

/** JSON as a `google.protobuf.Value`. */
export const toValue = (value: unknown): WireObject => {
  if (value === null || value === undefined) return { null_value: 0 }
  if (Array.isArray(value)) return { list_value: { values: value.map(toValue) } }
  if (isObject(value)) return { struct_value: toStruct(value) }
  if (typeof value === 'string') return { string_value: value }
  if (typeof value === 'number') return { number_value: value }
  if (typeof value === 'boolean') return { bool_value: value }
  throw new TypeError(`${typeof value} is no JSON`)
}
