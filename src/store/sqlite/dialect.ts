import {
  type Compilable,
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely'
import type { Dialect, NumberedRow } from '../dialect.ts'
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

export const sqliteDialect: Dialect = {
  engine: 'sqlite',
  builder,
  memberOf: (column, parameter) => sql`${sql.ref(column)} in (select value from json_each(${parameter}))`,
  list: (values) => JSON.stringify(values.map(rejectNul)),
  // A unary plus makes an expression of the column:
  // https://sqlite.org/optoverview.html#disqualifying_where_clause_terms
  unindexed: (column) => sql`+${sql.ref(column)}`,
  // SQLite joins the tables of a cross join in their order.
  byRowNumber: (condition) => condition,
  // A connection knows the last row id; RETURNING creates a temporary table each time, a fifth of an insert's cost.
  numbered: (insert) => insert as unknown as Compilable<NumberedRow>,
  valuesOf: (slot, types) => {
    const names = Object.keys(types) as (keyof typeof types)[]
    return sql`values (${sql.join(names.map((name) => slot(name)))})`
  },
  forEachRow: (slot, _, query) => query(slot),
  // SQLite merges ordered streams by itself.
  stream: (query) => query,
  // Writers run one after the other.
  forShare: (query) => query,
  forUpdate: (query) => query,
  // SQLite does so by itself.
  rowByRow: sql``,
  unknownIsFalse: (condition) => sql`coalesce(${condition}, false)`,
}
