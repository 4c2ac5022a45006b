import type { Static, TSchema } from 'typebox'
import { Type } from '../common/json-schema.ts'

/** A shared schema as the property with proto field number `number`. */
export const field = <T extends TSchema>(number: number, schema: T): T =>
  Object.defineProperties(
    {},
    {
      ...Object.getOwnPropertyDescriptors(schema),
      field: { value: number, enumerable: true },
    },
  ) as T

/**
 * An optional member that may also be null, which means absent. One schema of two types, not two schemas, so that
 * issues inside the value do not mention null.
 */
export const nullable = <T extends TSchema & { readonly type: string }>(number: number, schema: T) =>
  Type.Optional(Type.Unsafe<Static<T> | null>({ ...schema, type: [schema.type, 'null'], field: number }))

/** The output of a 204. */
export const Empty = Type.Object({})
