import { type Static, type TSchema, Type } from 'typebox'

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
 * An optional member that may also be null, which means absent. One schema of two types, not
 * two schemas, so that issues inside the value do not mention null.
 */
export const orNull = <T extends TSchema & { readonly type: string }>(number: number, schema: T) =>
  Type.Optional(Type.Unsafe<Static<T> | null>({ ...schema, type: [schema.type, 'null'], field: number }))

/** An object of which only the id is read, e.g. a complete application. */
export const Reference = Type.Object(
  { id: Type.String({ maxLength: 200, field: 1 }) },
  { title: 'Reference' },
)

/** Input that names the entity of a route `/things/{id}`. */
export const EntityId = Type.Object({ id: Type.String({ field: 1 }) })

/** Members of a record: ids of the actors that created and last changed it, and times in ms since the epoch. */
export const changeMembers = {
  created_by: Type.String(),
  created_at: Type.Integer(),
  modified_by: Type.Optional(Type.String()),
  modified_at: Type.Optional(Type.Integer()),
}

/** The output of a 204. */
export const Nothing = Type.Object({})
