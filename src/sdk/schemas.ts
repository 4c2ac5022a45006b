import { type Static, type TSchema, Type } from 'typebox'

/** A schema that serves in several places, as the property with proto field number `number` of one of them. */
export const field = <T extends TSchema>(number: number, schema: T): T =>
  Object.defineProperties(
    {},
    {
      ...Object.getOwnPropertyDescriptors(schema),
      field: { value: number, enumerable: true },
    },
  ) as T

/**
 * An optional member that may also be sent as null, which means the same as leaving it out. One schema of two types, not
 * two schemas, so that a fault inside the value is not told as "or null" too.
 */
export const orNull = <T extends TSchema & { readonly type: string }>(number: number, schema: T) =>
  Type.Optional(Type.Unsafe<Static<T> | null>({ ...schema, type: [schema.type, 'null'], field: number }))

/** An object of which only its id counts, e.g. a whole application. */
export const Reference = Type.Object(
  { id: Type.String({ maxLength: 200, field: 1 }) },
  { title: 'Reference' },
)

/** Input that names the entity of a route `/things/{id}`. */
export const EntityId = Type.Object({ id: Type.String({ field: 1 }) })

/** Members of a record that say who made it and who changed it last (ids of actors), and when (ms since the epoch). */
export const changeMembers = {
  created_by: Type.String(),
  created_at: Type.Integer(),
  modified_by: Type.Optional(Type.String()),
  modified_at: Type.Optional(Type.Integer()),
}

/** The output of a 204. */
export const Nothing = Type.Object({})
