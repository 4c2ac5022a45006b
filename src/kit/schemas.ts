import { Type } from '../common/json-schema.ts'

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
