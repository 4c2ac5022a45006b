import { inOwnTurn, yieldIfDue } from '../../common/event-loop.ts'
import { isObject } from '../../common/json.ts'
import { PIECE, runsOf, weigh } from '../../common/weight.ts'
import type { Field, Item, Message } from '../../kernel/messages/model.ts'
import { NotExpressible, toWire } from './codec.ts'
import { toStruct, toValue } from './value.ts'
import type { WireObject, WireOf } from './wire.ts'

/** Concatenated encodings of one message: protobuf decodes them as their merge. */
type Parts = Buffer[]

/** Field numbers of `google.protobuf.Value` and of its members. */
const [STRUCT, LIST, ENTRY, KEY, VALUE] = [5, 6, 1, 1, 2]

/** Tag and length of a field that is a message. */
const prefix = (number: number, length: number): Buffer => {
  const bytes: number[] = []
  for (let left of [number * 8 + 2, length]) {
    for (; left > 127; left = Math.floor(left / 128)) bytes.push((left % 128) + 128)
    bytes.push(left)
  }
  return Buffer.from(bytes)
}

const within = (number: number, parts: Parts): Parts => [
  prefix(
    number,
    parts.reduce((sum, { length }) => sum + length, 0),
  ),
  ...parts,
]

const isLight = (value: unknown) => weigh(value, PIECE) <= PIECE

/** Encodes a response, with pauses for other work (event-loop.ts). Throws `NotExpressible` as `toWire` does. */
export const createWriter = (
  wireOf: WireOf,
  response: Message,
): ((output: WireObject) => Promise<Buffer>) => {
  const google = (name: string) => wireOf({ name }, 'google.protobuf').encode
  const [value, list, struct] = [google('Value'), google('ListValue'), google('Struct')]

  const valueParts = async (json: unknown): Promise<Parts> => {
    const pause = yieldIfDue()
    if (pause) await pause
    if (typeof json !== 'object' || json === null || isLight(json)) return [value(toValue(json))]
    const parts: Parts = []
    if (isObject(json)) return within(STRUCT, await structParts(json))
    for (const { items, heavy } of runsOf(json as readonly unknown[], (item) => item)) {
      const pause = yieldIfDue()
      if (pause) await pause
      if (heavy) parts.push(...within(ENTRY, await valueParts(items[0])))
      else parts.push(list({ values: items.map(toValue) }))
    }
    return within(LIST, parts)
  }

  const entryParts = async (number: number, key: string, parts: Parts): Promise<Parts> => {
    const name = Buffer.from(key)
    return within(number, [prefix(KEY, name.length), name, ...within(VALUE, parts)])
  }

  const structParts = async (json: WireObject): Promise<Parts> => {
    const parts: Parts = []
    for (const { items, heavy } of runsOf(Object.entries(json), ([, member]) => member)) {
      const pause = yieldIfDue()
      if (pause) await pause
      const [[key = '', member] = []] = items
      if (heavy) parts.push(...(await entryParts(ENTRY, key, await valueParts(member))))
      else parts.push(struct(toStruct(Object.fromEntries(items))))
    }
    return parts
  }

  const itemParts = (item: Item, json: unknown): Promise<Parts> => {
    if (item.kind === 'value') return valueParts(json)
    if (!isObject(json)) throw new NotExpressible(`a ${typeof json} is not an object`)
    return item.kind === 'message' ? messageParts(item.message, json) : structParts(json)
  }

  const fieldParts = async (
    message: Message,
    { name, number, shape }: Field,
    json: unknown,
  ): Promise<Parts> => {
    const encoded = (part: unknown) => wireOf(message).encode(toWire(message, { [name]: part }))
    if (typeof json !== 'object' || json === null || isLight(json)) return [encoded(json)]
    const parts: Parts = []
    if (shape.kind === 'list' && Array.isArray(json))
      for (const { items, heavy } of runsOf(json, (item) => item)) {
        const pause = yieldIfDue()
        if (pause) await pause
        if (!heavy || shape.item.kind === 'scalar') parts.push(encoded(items))
        else parts.push(...within(number, await itemParts(shape.item, items[0])))
      }
    else if (shape.kind === 'map' && isObject(json))
      for (const { items, heavy } of runsOf(Object.entries(json), ([, member]) => member)) {
        const pause = yieldIfDue()
        if (pause) await pause
        const [[key = '', member] = []] = items
        if (!heavy || shape.value.kind === 'scalar') parts.push(encoded(Object.fromEntries(items)))
        else parts.push(...(await entryParts(number, key, await itemParts(shape.value, member))))
      }
    else if (shape.kind === 'message' || shape.kind === 'struct' || shape.kind === 'value')
      parts.push(...within(number, await itemParts(shape, json)))
    else parts.push(encoded(json))
    return parts
  }

  const messageParts = async (message: Message, json: WireObject): Promise<Parts> => {
    const parts: Parts = []
    for (const field of message.fields) {
      const pause = yieldIfDue()
      if (pause) await pause
      if (!Object.hasOwn(json, field.name)) continue
      parts.push(...(await fieldParts(message, field, json[field.name])))
    }
    return parts
  }

  const { encode } = wireOf(response)
  return async (output) => {
    if (isLight(output)) return encode(toWire(response, output))
    const parts = await messageParts(response, output)
    return inOwnTurn(() => Buffer.concat(parts))
  }
}
