import type { Compilable, Expression, Kysely, RawBuilder, SelectQueryBuilder, SqlBool } from 'kysely'
import type { Schema } from './schema.ts'

/** Names a parameter of a statement where Kysely expects its value. */
export type Slots<P> = <K extends keyof P & string>(name: K) => P[K]

/** Parameter types, for the engine that needs them in advance. */
type ColumnType = 'text' | 'bigint' | 'bytea'

type ColumnTypes<P> = { readonly [K in keyof P & string]?: ColumnType }

/** A written row, with the number that it was given. */
export interface NumberedRow {
  readonly id: string
  readonly seq: number
}

/** Differences between the engines. Kysely builds everything else once for both. */
export interface Dialect {
  readonly engine: 'sqlite' | 'postgres'
  /** Builds and compiles queries; cannot run any. */
  readonly builder: Kysely<Schema>
  /** True when the column is a member of a list that is bound as one parameter; see `list`. */
  readonly memberOf: (column: string, parameter: unknown) => RawBuilder<SqlBool>
  /** Binds a list for `memberOf`. */
  readonly list: (values: readonly (string | number)[]) => unknown
  /** A column that must not select an index: the order of the walk matters more. */
  readonly unindexed: <T>(column: string) => RawBuilder<T>
  /** A condition on rows found by their number: it must not select another index, whatever the planner expects. */
  readonly byRowNumber: (condition: RawBuilder<SqlBool>) => RawBuilder<SqlBool>
  /** An insert that `Session.insert` or `Session.insertAll` runs. */
  readonly numbered: <T extends Compilable>(
    insert: T & { returning(columns: readonly ['id', 'seq']): Compilable<NumberedRow> },
  ) => Compilable<NumberedRow>
  /**
   * Values that an insert run by `Session.runAll` or `Session.insertAll` writes: these parameters of every row, in this
   * order.
   */
  readonly valuesOf: <P>(slot: Slots<P>, types: ColumnTypes<P>) => RawBuilder<never>
  /**
   * A query of one row for each of the rows that `Session.getAll` binds. `query` must take these parameters from its
   * argument.
   */
  readonly forEachRow: <P, R>(
    slot: Slots<P>,
    types: ColumnTypes<P>,
    query: (value: Slots<P>) => Compilable<R> & Expression<R>,
  ) => Compilable<R>
  /** One stream of a merged list, newest first; the list shows at most `limit` rows of it. */
  readonly stream: <T extends SelectQueryBuilder<Schema, 'tokens', object>>(query: T, limit: number) => T
  /** Locks the rows that a command reads against changes until its end (`for share`). */
  readonly forShare: <T>(query: T & { forShare(): T }) => T
  /** Locks the rows exclusively until the end of the command (`for update`). */
  readonly forUpdate: <T>(query: T & { forUpdate(): T }) => T
  /** Ends a subquery that must be evaluated for each row separately. */
  readonly rowByRow: RawBuilder<unknown>
  /** The condition with `unknown` as false, so that it can be negated. */
  readonly unknownIsFalse: (condition: Expression<SqlBool>) => RawBuilder<SqlBool>
}
