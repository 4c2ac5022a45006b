import { isObject } from '../../common/json.ts'
import {
  EMPTY_MEMBERS,
  type Field,
  hasPresence,
  IF_MATCH,
  type Item,
  type Message,
  NULL_MEMBERS,
  type Scalar,
  type Shape,
} from '../../kernel/messages/model.ts'
import { fromStruct, fromValue, toStruct, toValue } from './value.ts'
import type { WireObject } from './wire.ts'

/** A value that protobuf cannot express as declared: its type differs from the declared one, or it is null. */
export class NotExpressible extends Error {}

const ZEROS: Readonly<Record<Scalar, unknown>> = { string: '', bool: false, int32: 0, int64: 0, double: 0 }

/** Converts 64-bit integers, which protobufjs gives as objects. Beyond 2^53 they lose precision, as JSON numbers do. */
const fromScalar = (value: unknown): unknown => (typeof value === 'object' ? Number(String(value)) : value)

const fits = (type: Scalar, value: unknown): boolean => {
  if (type === 'string' || type === 'bool') return typeof value === (type === 'bool' ? 'boolean' : type)
  if (type === 'double') return typeof value === 'number'
  if (!Number.isSafeInteger(value)) return false
  return type === 'int64' || (value as number) === ((value as number) | 0)
}

const fromItem = (item: Item, value: unknown): unknown => {
  switch (item.kind) {
    case 'scalar':
      return fromScalar(value)
    case 'message':
      return fromWire(item.message, value as WireObject)
    case 'value':
      return fromValue(value)
    case 'struct':
      return fromStruct(value)
  }
}

const fromShape = (shape: Shape, value: unknown): unknown => {
  if (shape.kind === 'list') return (value as readonly unknown[]).map((each) => fromItem(shape.item, each))
  if (shape.kind === 'map')
    return Object.fromEntries(
      Object.entries(value as WireObject).map(([name, each]) => [name, fromItem(shape.value, each)]),
    )
  return fromItem(shape, value)
}

/** Default of a member that was not sent; undefined: absent. */
const unset = (message: Message, field: Field): unknown => {
  const { shape } = field
  if (!field.required) return undefined
  if (shape.kind === 'list') return []
  if (shape.kind === 'map') return {}
  return shape.kind === 'scalar' && !hasPresence(message, field) ? ZEROS[shape.type] : undefined
}

/** Resolves the dotted name of a member; undefined when it does not exist. */
const setMember = (
  message: Message,
  object: Record<string, unknown>,
  path: string,
  empty: boolean,
): boolean => {
  const [name = '', ...rest] = path.split('.')
  const shape = message.fields.find((field) => field.name === name)?.shape
  if (shape === undefined) return false
  if (rest.length > 0) {
    if (shape.kind !== 'message') return false
    if (!isObject(object[name])) object[name] = {}
    return setMember(shape.message, object[name] as Record<string, unknown>, rest.join('.'), empty)
  }
  if (!empty) object[name] = null
  else if (shape.kind === 'list') object[name] ??= []
  else if (shape.kind === 'map') object[name] ??= {}
  else return false
  return true
}

/** Lists and maps that were not sent are empty. */
const isSet = (shape: Shape, wire: WireObject, name: string): boolean =>
  Object.hasOwn(wire, name) &&
  ((shape.kind !== 'list' && shape.kind !== 'map') || Object.keys(wire[name] as object).length > 0)

/** A message as JSON, member by member as its schema declares it. */
const fromWire = (message: Message, wire: WireObject): Record<string, unknown> => {
  const object: Record<string, unknown> = {}
  for (const field of message.fields) {
    const { name, shape } = field
    const value = isSet(shape, wire, name) ? fromShape(shape, wire[name]) : unset(message, field)
    if (value !== undefined) object[name] = value
  }
  return object
}

const RESERVED: readonly number[] = [NULL_MEMBERS.number, EMPTY_MEMBERS.number, IF_MATCH.number]

const isReserved = ({ number }: Field) => RESERVED.includes(number)

const list = (value: unknown) => (Array.isArray(value) ? (value as readonly string[]) : [])

/**
 * Decodes a request to the input of its operation, with the members that it names as null or empty. Throws on names of
 * members that do not exist.
 */
export const inputFrom = (request: Message, wire: WireObject): Record<string, unknown> => {
  const input = fromWire(request, wire)
  if (!request.fields.some(isReserved)) return input
  const declared = { ...request, fields: request.fields.filter((field) => !isReserved(field)) }
  for (const { name } of [NULL_MEMBERS, EMPTY_MEMBERS]) {
    for (const path of list(input[name]))
      if (!setMember(declared, input, path, name === EMPTY_MEMBERS.name))
        throw new NotExpressible(`${name} names something else than a member of this request`)
    delete input[name]
  }
  return input
}

const toItem = (item: Item, value: unknown): unknown => {
  if (item.kind === 'value') return toValue(value)
  if (item.kind === 'scalar') {
    if (!fits(item.type, value)) throw new NotExpressible(`a ${typeof value} is not ${item.type}`)
    return value
  }
  if (!isObject(value)) throw new NotExpressible(`a ${typeof value} is not an object`)
  return item.kind === 'struct' ? toStruct(value) : toWire(item.message, value)
}

const toShape = (shape: Shape, value: unknown): unknown => {
  if (shape.kind === 'list') {
    if (!Array.isArray(value)) throw new NotExpressible(`a ${typeof value} is not a list`)
    return value.map((each) => toItem(shape.item, each))
  }
  if (shape.kind !== 'map') return toItem(shape, value)
  if (!isObject(value)) throw new NotExpressible(`a ${typeof value} is not a map`)
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, toItem(shape.value, each)]))
}

/**
 * JSON as a message: its declared members; those that are undefined, or null where null means unset, are left out.
 * Throws `NotExpressible` on values of other types than declared.
 */
export const toWire = (message: Message, value: WireObject): WireObject => {
  const wire: Record<string, unknown> = {}
  for (const { name, shape, nullable } of message.fields) {
    if (!Object.hasOwn(value, name)) continue
    const member = value[name]
    if (member === undefined || (member === null && nullable)) continue
    wire[name] = toShape(shape, member)
  }
  return wire
}
