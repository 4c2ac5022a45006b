import { Type } from '../common/json-schema.ts'
import { offsetQuery, pageOf, type RecordQuery, type Records } from '../sdk/index.ts'

/** A query member that may be repeated, with one string each. */
export const texts = (number: number) => Type.Optional(Type.Array(Type.String(), { field: number }))

/** The query member `name` (completions §3), as long as a name may be. */
export const nameFilter = (number: number) =>
  Type.Optional(
    Type.String({ maxLength: 200, field: number, description: 'Wildcards * and ?; else contains.' }),
  )

/** Query members of an offset list of entities with a name; fields 1 to 4 of its input. */
export const namedQuery = {
  ...offsetQuery,
  id: texts(3),
  name: nameFilter(4),
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

/** Records of one read. */
const EACH = 50

/** All records that match, newest first, read in pages: for work that ends with the call, and holds few of them. */
export async function* eachRecord<T extends { readonly id: string }>(
  records: Pick<Records<T>, 'find'>,
  tenantId: string,
  where: NonNullable<RecordQuery['where']> = {},
): AsyncGenerator<T> {
  let start: string | undefined
  do {
    const page = await records.find(tenantId, {
      where,
      size: EACH,
      ...(start === undefined ? {} : { start }),
    })
    yield* page.items
    start = page.next
  } while (start !== undefined)
}
