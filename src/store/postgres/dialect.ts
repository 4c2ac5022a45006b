import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  sql,
} from 'kysely'
import type { Dialect } from '../dialect.ts'
import { rejectNul } from '../reject-nul.ts'
import type { Schema } from '../schema.ts'

const builder = new Kysely<Schema>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
})

const each: Dialect['columnsOf'] = (slot, types) =>
  (Object.keys(types) as (keyof typeof types)[]).map(
    (name) => sql`unnest(${slot(name)}::${sql.raw(types[name] as string)}[])`,
  )

export const postgresDialect: Dialect = {
  engine: 'postgres',
  builder,
  memberOf: (column, parameter) => sql`${sql.ref(column)} = any(${parameter})`,
  list: (values) => values.map(rejectNul),
  // The planner uses its statistics.
  unindexed: (column) => sql.ref(column),
  // For a new table, or a new tenant in a large one, the planner expects one row and would compare all with all.
  byRowNumber: (condition) => sql`case when ${condition} then true else false end`,
  numbered: (insert) => insert.returning('seq'),
  columnsOf: each,
  valuesOf: (slot, types) => sql`select ${sql.join(each(slot, types))}`,
  // The planner sorts a union of streams with conditions: limit the rows of each.
  stream: (query, limit) => {
    const stream = query.orderBy('tokens.seq', 'desc').limit(limit).as('stream')
    return builder.selectFrom(stream).selectAll() as unknown as typeof query
  },
  forShare: (query) => query.forShare(),
  forUpdate: (query) => query.forUpdate(),
  // The planner would hash the entire subquery result, or scan it for each row.
  rowByRow: sql`offset 0`,
  unknownIsFalse: (condition) => sql`coalesce(${condition}, false)`,
}
