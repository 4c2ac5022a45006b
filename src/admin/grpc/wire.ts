import { isUtf8 } from 'node:buffer'
import protobuf from 'protobufjs'
import { AppError } from '../../common/errors.ts'
import { hasPresence, type Item, type Message } from '../../kernel/messages/model.ts'
import { PACKAGE, typeName } from '../proto/files.ts'

/**
 * Maximum nested messages. A level of JSON needs two, bodies have up to 64 levels (completions §11), and
 * replaced values may have as many again. The library's own limit is 100.
 */
const DEPTH = 400

/** A protobuf message in the library's form: fields by name, absent ones absent. */
export type WireObject = { readonly [name: string]: unknown }

export interface WireType {
  /**
   * Throws on bytes that do not decode, and on text that is not UTF-8; `malformed` for more than `max` tags and
   * lengths.
   */
  decode(bytes: Uint8Array, max?: number): WireObject
  encode(object: WireObject): Buffer
}

/**
 * Rejects truncated text and text that is not UTF-8. The library's reader accepts the first and replaces characters in
 * the second, so that other data would be stored than was sent.
 */
class StrictReader extends protobuf.BufferReader {
  readonly #max: number
  #read = 0

  constructor(bytes: Uint8Array, max: number) {
    super(bytes)
    this.#max = max
  }

  override uint32(): number {
    if (++this.#read > this.#max)
      throw new AppError(
        'malformed',
        `The message holds more than ${this.#max} tags and lengths of fields. Split it.`,
      )
    return super.uint32()
  }

  override string(): string {
    const bytes = this.bytes()
    if (!isUtf8(bytes)) throw new Error('text is not valid UTF-8')
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()
  }
}

const typeOf = (item: Item): string =>
  item.kind === 'message' ? `.${PACKAGE}.${typeName(item)}` : typeName(item)

const fieldsOf = (message: Message): Record<string, protobuf.IField | protobuf.IMapField> =>
  Object.fromEntries(
    message.fields.map((field) => {
      const { shape, number: id, name } = field
      if (shape.kind === 'list') return [name, { rule: 'repeated', type: typeOf(shape.item), id }]
      if (shape.kind === 'map') return [name, { keyType: 'string', type: typeOf(shape.value), id }]
      const options = hasPresence(message, field) ? { options: { proto3_optional: true } } : {}
      return [name, { type: typeOf(shape), id, ...options }]
    }),
  )

const struct: Record<string, protobuf.AnyNestedObject> = {
  Struct: { fields: { fields: { keyType: 'string', type: 'Value', id: 1 } as protobuf.IField } },
  Value: {
    oneofs: {
      kind: {
        oneof: ['null_value', 'number_value', 'string_value', 'bool_value', 'struct_value', 'list_value'],
      },
    },
    fields: {
      null_value: { type: 'int32', id: 1 },
      number_value: { type: 'double', id: 2 },
      string_value: { type: 'string', id: 3 },
      bool_value: { type: 'bool', id: 4 },
      struct_value: { type: 'Struct', id: 5 },
      list_value: { type: 'ListValue', id: 6 },
    },
  },
  ListValue: { fields: { values: { rule: 'repeated', type: 'Value', id: 1 } } },
}

const nestedIn = (path: string, nested: Record<string, protobuf.AnyNestedObject>): protobuf.INamespace =>
  path
    .split('.')
    .toReversed()
    .reduce<protobuf.INamespace>((inner, name) => ({ nested: { [name]: inner } }), { nested })

/** Encoders and decoders of messages by name, as the library compiles them. */
export type WireOf = (message: Pick<Message, 'name'>, within?: string) => WireType

export const createWire = (messages: readonly Message[]): WireOf => {
  protobuf.util.recursionLimit = Math.max(protobuf.util.recursionLimit, DEPTH)
  protobuf.Reader.recursionLimit = Math.max(protobuf.Reader.recursionLimit, DEPTH)
  const types = Object.fromEntries(messages.map((message) => [message.name, { fields: fieldsOf(message) }]))
  const root = protobuf.Root.fromJSON({
    nested: { ...nestedIn(PACKAGE, types).nested, ...nestedIn('google.protobuf', struct).nested },
  })
  root.resolveAll()
  return ({ name }, within = PACKAGE) => {
    const type = root.lookupType(`${within}.${name}`)
    return {
      decode: (bytes, max = Number.POSITIVE_INFINITY) =>
        type.decode(new StrictReader(bytes, max)) as unknown as WireObject,
      encode: (object) => Buffer.from(type.encode(object).finish()),
    }
  }
}
