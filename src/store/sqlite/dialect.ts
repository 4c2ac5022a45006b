import {
  type Compilable,
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely'
import type { Dialect } from '../dialect.ts'
import type { Schema } from '../schema.ts'
import { storable } from '../text.ts'

const builder = new Kysely<Schema>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
})

const each: Dialect['each'] = (slot, types) =>
  (Object.keys(types) as (keyof typeof types)[]).map((name) => sql`${slot(name)}`)

export const sqliteDialect: Dialect = {
  engine: 'sqlite',
  builder,
  memberOf: (column, parameter) => sql`${sql.ref(column)} in (select value from json_each(${parameter}))`,
  list: (values) => JSON.stringify(values.map(storable)),
  // A unary plus makes an expression of the column: https://sqlite.org/optoverview.html#disqualifying_where_clause_terms
  unindexed: (column) => sql`+${sql.ref(column)}`,
  // It takes the tables of a cross join in their order.
  led: (condition) => condition,
  // A connection knows its last row's number; RETURNING would make a temporary table each time, a fifth of an insert's cost.
  numbered: (insert) => insert as unknown as Compilable<{ seq: number }>,
  each,
  rows: (slot, types) => sql`values (${sql.join(each(slot, types))})`,
  // It merges what comes in order by itself.
  stream: (query) => query,
  // Writers are one after the other.
  held: (query) => query,
  taken: (query) => query,
  // It does so anyway.
  rowByRow: sql``,
  known: (condition) => sql`coalesce(${condition}, false)`,
}
