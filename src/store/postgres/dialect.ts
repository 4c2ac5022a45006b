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
  // The planner decides by its statistics.
  unindexed: (column) => sql.ref(column),
  // Of a new table, or a tenant that is new in a large one, it expects one row, and then compares all with all.
  byRowNumber: (condition) => sql`case when ${condition} then true else false end`,
  numbered: (insert) => insert.returning('seq'),
  columnsOf: each,
  valuesOf: (slot, types) => sql`select ${sql.join(each(slot, types))}`,
  // It sorts a union of whatever has a condition: so of no more rows than are needed.
  stream: (query, limit) => {
    const stream = query.orderBy('tokens.seq', 'desc').limit(limit).as('stream')
    return builder.selectFrom(stream).selectAll() as unknown as typeof query
  },
  forShare: (query) => query.forShare(),
  forUpdate: (query) => query.forUpdate(),
  // It would hash all that the subquery finds, or go through all of it for each row.
  rowByRow: sql`offset 0`,
  unknownIsFalse: (condition) => sql`coalesce(${condition}, false)`,
}
