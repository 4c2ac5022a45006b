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
import { rejectNul } from '../reject-nul.ts'
import type { Schema } from '../schema.ts'

const builder = new Kysely<Schema>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
})

const each: Dialect['columnsOf'] = (slot, types) =>
  (Object.keys(types) as (keyof typeof types)[]).map((name) => sql`${slot(name)}`)

export const sqliteDialect: Dialect = {
  engine: 'sqlite',
  builder,
  memberOf: (column, parameter) => sql`${sql.ref(column)} in (select value from json_each(${parameter}))`,
  list: (values) => JSON.stringify(values.map(rejectNul)),
  // A unary plus makes an expression of the column: https://sqlite.org/optoverview.html#disqualifying_where_clause_terms
  unindexed: (column) => sql`+${sql.ref(column)}`,
  // SQLite joins the tables of a cross join in their order.
  byRowNumber: (condition) => condition,
  // A connection knows the last row id; RETURNING creates a temporary table each time, a fifth of an insert's cost.
  numbered: (insert) => insert as unknown as Compilable<{ seq: number }>,
  columnsOf: each,
  valuesOf: (slot, types) => sql`values (${sql.join(each(slot, types))})`,
  // SQLite merges ordered streams by itself.
  stream: (query) => query,
  // Writers run one after the other.
  forShare: (query) => query,
  forUpdate: (query) => query,
  // SQLite does so by itself.
  rowByRow: sql``,
  unknownIsFalse: (condition) => sql`coalesce(${condition}, false)`,
}
