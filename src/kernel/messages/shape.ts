import { asSchema, type JsonSchema } from '../json-schema.ts'
import type { Item, Message, Scalar, Shape } from './model.ts'

const INT32 = { minimum: -(2 ** 31), maximum: 2 ** 31 - 1 }

const ANY: Item = { kind: 'value' }
const ANY_OBJECT: Item = { kind: 'struct' }

const typeOf = (value: unknown): string => (value === null ? 'null' : typeof value)

/** The JSON types that a schema names; none when it allows anything. */
const typesOf = (schema: JsonSchema): readonly string[] => {
  if (schema.type !== undefined) return [schema.type].flat()
  const values = schema.enum ?? (schema.const === undefined ? [] : [schema.const])
  return [...new Set(values.map(typeOf))]
}

interface Narrowed {
  /** The one schema that a value which is not null has; undefined when there are several, or any value is allowed. */
  readonly schema: JsonSchema | undefined
  readonly type: string | undefined
  readonly nullable: boolean
}

/** A schema without its null. Alternatives of one scalar type, such as literals, are that type. */
const narrow = (schema: JsonSchema): Narrowed => {
  const alternatives = schema.anyOf ?? schema.oneOf
  if (alternatives === undefined) {
    const types = typesOf(schema)
    const others = types.filter((type) => type !== 'null')
    const single = others.length === 1 ? others[0] : undefined
    return {
      schema: single === undefined ? undefined : schema,
      type: single,
      nullable: others.length < types.length,
    }
  }
  const narrowed = alternatives.map((each) => narrow(asSchema(each)))
  const others = narrowed.filter((each, index) => each.type !== undefined || !isNull(alternatives[index]))
  const nullable = others.length < narrowed.length || others.some((each) => each.nullable)
  const [first] = others
  const agree = others.every(({ type }) => type !== undefined && type === first?.type)
  const scalar = first?.type !== 'object' && first?.type !== 'array'
  const usable = first !== undefined && agree && (others.length === 1 || scalar)
  return { schema: usable ? first.schema : undefined, type: usable ? first.type : undefined, nullable }
}

const isNull = (schema: unknown) => {
  const types = typesOf(asSchema(schema))
  return types.length === 1 && types[0] === 'null'
}

const integer = (schema: JsonSchema): Scalar => {
  const { minimum, maximum } = schema as { minimum?: number; maximum?: number }
  const fits = (minimum ?? INT32.minimum) >= INT32.minimum && (maximum ?? Infinity) <= INT32.maximum
  return fits ? 'int32' : 'int64'
}

const scalarOf = (type: string, schema: JsonSchema): Scalar | undefined => {
  switch (type) {
    case 'string':
      return 'string'
    case 'boolean':
      return 'bool'
    case 'integer':
      return integer(schema)
    case 'number':
      return 'double'
    default:
      return undefined
  }
}

/** Makes the message of an object schema; `name` is what it is called unless its schema has a title. */
type MessageFor = (schema: JsonSchema, name: string) => Message

/** proto3 has no list of lists, no map of maps and no null inside either: such values are free JSON. */
const itemOf = (schema: JsonSchema, name: string, messageFor: MessageFor): Item => {
  const { shape, nullable } = shapeOf(schema, name, messageFor)
  return nullable || shape.kind === 'list' || shape.kind === 'map' ? ANY : shape
}

const objectShape = (schema: JsonSchema, name: string, messageFor: MessageFor): Shape => {
  const members = schema.properties
  const patterns = Object.values(schema.patternProperties ?? {})
  const rest = schema.additionalProperties
  const others = [...patterns, ...(typeof rest === 'object' ? [rest] : [])]
  if (members !== undefined && others.length === 0 && rest !== true)
    return { kind: 'message', message: messageFor(schema, name) }
  const [value] = others
  if (members !== undefined || value === undefined || others.length > 1) return ANY_OBJECT
  const item = itemOf(asSchema(value), name, messageFor)
  return item.kind === 'value' ? ANY_OBJECT : { kind: 'map', value: item }
}

/** How protobuf carries the values of a schema. What has no nearer form is `google.protobuf.Value`. */
export const shapeOf = (
  schema: JsonSchema,
  name: string,
  messageFor: MessageFor,
): { readonly shape: Shape; readonly nullable: boolean } => {
  const { schema: narrowed, type, nullable } = narrow(schema)
  if (narrowed === undefined || type === undefined) return { shape: ANY, nullable: false }
  const scalar = scalarOf(type, narrowed)
  if (scalar !== undefined) return { shape: { kind: 'scalar', type: scalar }, nullable }
  if (type === 'object') return { shape: objectShape(narrowed, name, messageFor), nullable }
  if (type === 'array' && narrowed.items !== undefined && !Array.isArray(narrowed.items))
    return { shape: { kind: 'list', item: itemOf(asSchema(narrowed.items), name, messageFor) }, nullable }
  return { shape: ANY, nullable: false }
}
