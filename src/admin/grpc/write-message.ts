import protobuf from 'protobufjs'
import { inOwnTurn, yieldIfDue } from '../../common/event-loop.ts'
import { isObject } from '../../common/json.ts'
import { PIECE, runsOf, weigh } from '../../common/weight.ts'
import type { Item, Message, Shape } from '../../kernel/messages/model.ts'
import { NotExpressible, toWire } from './codec.ts'
import { toStruct, toValue } from './value.ts'
import type { WireObject, WireOf } from './wire.ts'

/** Concatenated encodings of one message: protobuf decodes them as their merge. */
type Parts = Buffer[]

/** Field numbers of `google.protobuf.Value`, and of an entry of a map. */
const [STRUCT, LIST, KEY, VALUE] = [5, 6, 1, 2]
/** The one field of `google.protobuf.ListValue`, and of `google.protobuf.Struct`. */
const [VALUES, FIELDS] = [1, 1]
const ANY = { kind: 'value' } as const

/** Wire type of a field that is a message or text. */
const LENGTH_DELIMITED = 2

const within = (number: number, parts: Parts): Parts => {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const head = new protobuf.Writer().uint32(number * 8 + LENGTH_DELIMITED).uint32(length)
  return [Buffer.from(head.finish()), ...parts]
}

const isLight = (value: unknown) =>
  typeof value !== 'object' || value === null || weigh(value, PIECE) <= PIECE

/**
 * Encodes a response in pieces, with pauses for other work (event-loop.ts). In one piece, protobufjs blocks the loop:
 * 90 ms of CPU for the 500,000 numbers that a token may hold, 680 ms for four of them in one reply. Its writer cannot
 * pause, since it does its work at the end. Throws `NotExpressible` as `toWire` does.
 */
export const createWriter = (
  wireOf: WireOf,
  response: Message,
): ((output: WireObject) => Promise<Buffer>) => {
  const google = (name: string) => wireOf({ name }, 'google.protobuf').encode
  const [value, list, struct] = [google('Value'), google('ListValue'), google('Struct')]

  /** A field of any shape. `encode`: its message with this field only, for a part that needs no pause. */
  const fieldParts = async (
    number: number,
    shape: Shape,
    json: unknown,
    encode: (part: unknown) => Buffer,
  ): Promise<Parts> => {
    if (isLight(json)) return [encode(json)]
    const parts: Parts = []
    if (shape.kind === 'list' && Array.isArray(json))
      for (const { items, heavy } of runsOf(json, (item) => item)) {
        const pause = yieldIfDue()
        if (pause) await pause
        if (!heavy || shape.item.kind === 'scalar') parts.push(encode(items))
        else parts.push(...within(number, await itemParts(shape.item, items[0])))
      }
    else if (shape.kind === 'map' && isObject(json))
      for (const { items, heavy } of runsOf(Object.entries(json), ([, member]) => member)) {
        const pause = yieldIfDue()
        if (pause) await pause
        const [[key = '', member] = []] = items
        if (!heavy || shape.value.kind === 'scalar') parts.push(encode(Object.fromEntries(items)))
        else {
          const entry = within(VALUE, await itemParts(shape.value, member))
          parts.push(...within(number, [...within(KEY, [Buffer.from(key)]), ...entry]))
        }
      }
    else if (shape.kind === 'message' || shape.kind === 'struct' || shape.kind === 'value')
      parts.push(...within(number, await itemParts(shape, json)))
    else parts.push(encode(json))
    return parts
  }

  const structParts = (json: WireObject): Promise<Parts> =>
    fieldParts(FIELDS, { kind: 'map', value: ANY }, json, (part) => struct(toStruct(part as WireObject)))

  const listParts = (json: readonly unknown[]): Promise<Parts> =>
    fieldParts(VALUES, { kind: 'list', item: ANY }, json, (part) =>
      list({ values: (part as readonly unknown[]).map(toValue) }),
    )

  const itemParts = async (item: Item, json: unknown): Promise<Parts> => {
    if (item.kind === 'value') {
      if (isLight(json)) return [value(toValue(json))]
      return isObject(json)
        ? within(STRUCT, await structParts(json))
        : within(LIST, await listParts(json as readonly unknown[]))
    }
    if (!isObject(json)) throw new NotExpressible(`a ${typeof json} is not an object`)
    return item.kind === 'message' ? messageParts(item.message, json) : structParts(json)
  }

  const messageParts = async (message: Message, json: WireObject): Promise<Parts> => {
    const { encode } = wireOf(message)
    const parts: Parts = []
    for (const { name, number, shape } of message.fields) {
      const pause = yieldIfDue()
      if (pause) await pause
      if (!Object.hasOwn(json, name)) continue
      const encodeField = (part: unknown) => encode(toWire(message, { [name]: part }))
      parts.push(...(await fieldParts(number, shape, json[name], encodeField)))
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
