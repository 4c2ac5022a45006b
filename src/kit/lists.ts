import { Type } from '../common/json-schema.ts'
import { offsetQuery, pageOf } from '../sdk/index.ts'

/** A query member that may be repeated, with one string each. */
export const texts = (number: number) => Type.Optional(Type.Array(Type.String(), { field: number }))

/** Query members of an offset list of entities with a name; fields 1 to 4 of its input. */
export const namedQuery = {
  ...offsetQuery,
  id: texts(3),
  name: Type.Optional(Type.String({ field: 4, description: 'Wildcards * and ?; else contains.' })),
}

/** Such a query as a filter of a collection; empty members filter nothing. */
export const namedPage = (input: {
  readonly page?: number | undefined
  readonly size?: number | undefined
  readonly id?: readonly string[] | undefined
  readonly name?: string | undefined
}) => ({
  ...pageOf(input),
  ...(input.id?.length ? { ids: input.id } : {}),
  ...(input.name ? { name: input.name } : {}),
})
