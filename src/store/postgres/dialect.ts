import {
  type Compilable,
  DummyDriver,
  type Expression,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  sql,
} from 'kysely'
import type { Dialect, Slots } from '../dialect.ts'
import { rejectNul } from '../reject-nul.ts'
import type { Schema } from '../schema.ts'

/**
 * SQL condition: the transaction has started (`BEGIN` of transaction.ts). A write with it may be sent before the
 * response to `begin`: after a failed one it writes nothing, where others would commit by themselves.
 */
export const IS_STARTED = "current_setting('sidevault.started', true) = 'true'"

const builder = new Kysely<Schema>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
})

export const postgresDialect: Dialect = {
  engine: 'postgres',
  builder,
  memberOf: (column, parameter) => sql`${sql.ref(column)} = any(${parameter})`,
  list: (values) => values.map(rejectNul),
  // The planner uses its statistics.
  unindexed: (column) => sql.ref(column),
  // For a new table, or a new tenant in a large one, the planner expects one row and would compare all with all.
  byRowNumber: (condition) => sql`case when ${condition} then true else false end`,
  numbered: (insert) => insert.returning(['id', 'seq']),
  valuesOf: (slot, types) => {
    const lists = (Object.keys(types) as (keyof typeof types)[]).map(
      (name) => sql`unnest(${slot(name)}::${sql.raw(types[name] as string)}[])`,
    )
    return sql`select ${sql.join(lists)} where ${sql.raw(IS_STARTED)}`
  },
  forEachRow: <P, R>(
    slot: Slots<P>,
    types: object,
    query: (value: Slots<P>) => Compilable<R> & Expression<R>,
  ): Compilable<R> => {
    const names = Object.keys(types) as (keyof P & string)[]
    const lists = names.map((name) => sql`${slot(name)}::${sql.raw(types[name as never] as string)}[]`)
    const columns = sql.join([...names, 'at'].map((name) => sql.ref(name)))
    const value = (name: string) => sql.ref(`wanted.${name}`)
    const rows = sql`(select wanted.at, found.* from unnest(${sql.join(lists)}) with ordinality as wanted (${columns})
      join lateral ${query(value as unknown as Slots<P>)} as found on true)`
    return builder.selectFrom(rows.as('rows')).selectAll() as unknown as Compilable<R>
  },
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
