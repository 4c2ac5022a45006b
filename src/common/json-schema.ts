import type { TSchema, Type as TypeBox } from 'typebox'

/**
 * The builders of TypeBox that declarations use. Everything else of TypeBox is types, which cost nothing at run time.
 */
type Builders = Pick<
  typeof TypeBox,
  | 'Array'
  | 'Boolean'
  | 'Enum'
  | 'Integer'
  | 'Literal'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Partial'
  | 'Record'
  | 'String'
  | 'Union'
  | 'Unknown'
  | 'Unsafe'
>

type Schema = Record<string, unknown>

/** TypeBox marks optional members by this name, too, so schemas of both can be mixed. */
const OPTIONAL = '~optional'
const ANY_NAME = '^.*$'

const optional = (schema: Schema): Schema => Object.defineProperty({ ...schema }, OPTIONAL, { value: true })

const object = (properties: Record<string, Schema>, options: Schema = {}): Schema => {
  const required = Object.keys(properties).filter((name) => !(OPTIONAL in (properties[name] as Schema)))
  return { type: 'object', ...(required.length === 0 ? {} : { required }), properties, ...options }
}

const ofType =
  (type: string) =>
  (options: Schema = {}): Schema => ({ type, ...options })

/**
 * JSON Schema with TypeBox's types. TypeBox itself is 370 modules, which each process would load and hold. Its schemas
 * and these are equal (`test/common/json-schema.test.ts`).
 */
export const Type = {
  Array: (items: Schema, options: Schema = {}) => ({ type: 'array', items, ...options }),
  Boolean: ofType('boolean'),
  Enum: (values: readonly unknown[], options: Schema = {}) => ({ enum: [...values], ...options }),
  Integer: ofType('integer'),
  Literal: (value: unknown, options: Schema = {}) => ({ type: typeof value, const: value, ...options }),
  Number: ofType('number'),
  Object: object,
  Optional: optional,
  Partial: ({ properties }: { properties: Record<string, Schema> }, options: Schema = {}) =>
    object(
      Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, optional(schema)])),
      options,
    ),
  Record: ({ pattern = ANY_NAME }: Schema, value: Schema, options: Schema = {}) => ({
    type: 'object',
    patternProperties: { [pattern as string]: value },
    ...options,
  }),
  String: ofType('string'),
  Union: (anyOf: readonly Schema[], options: Schema = {}) => ({ anyOf: [...anyOf], ...options }),
  Unknown: (options: Schema = {}): Schema => ({ ...options }),
  Unsafe: (schema: TSchema) => schema,
} as unknown as Builders
