import type { Compilable, Expression, Kysely, RawBuilder, SelectQueryBuilder, SqlBool } from 'kysely'
import type { Schema } from './schema.ts'

/** Names a parameter of a statement where Kysely expects its value. */
export type Slots<P> = <K extends keyof P & string>(name: K) => P[K]

/** As the engine that wants to know types beforehand names them. */
type ColumnType = 'text' | 'bigint' | 'bytea'

type ColumnTypes<P> = { readonly [K in keyof P & string]?: ColumnType }

/** What the engines say differently. Everything else is built by Kysely, once for both. */
export interface Dialect {
  readonly engine: 'sqlite' | 'postgres'
  /** Builds and compiles queries; cannot run any. */
  readonly builder: Kysely<Schema>
  /** True when the column is a member of a list that is bound as one parameter; see `list`. */
  readonly memberOf: (column: string, parameter: unknown) => RawBuilder<SqlBool>
  /** A list as `memberOf` wants it bound. */
  readonly list: (values: readonly (string | number)[]) => unknown
  /** A column that no index shall be picked for: the order of the walk matters more. */
  readonly unindexed: <T>(column: string) => RawBuilder<T>
  /** A condition on rows that their number leads to: no index shall be picked for it, whatever the engine expects. */
  readonly byRowNumber: (condition: RawBuilder<SqlBool>) => RawBuilder<SqlBool>
  /** An insert of one row that `Session.insert` runs. */
  readonly numbered: <T extends Compilable>(
    insert: T & { returning(column: 'seq'): Compilable<{ seq: number }> },
  ) => Compilable<{ seq: number }>
  /** In a statement that `Session.runAll` runs: these parameters of a row, in this order. */
  readonly columnsOf: <P>(slot: Slots<P>, types: ColumnTypes<P>) => readonly RawBuilder<unknown>[]
  /** What an insert that `Session.runAll` runs writes: such parameters of every row. */
  readonly valuesOf: <P>(slot: Slots<P>, types: ColumnTypes<P>) => RawBuilder<never>
  /** One of the streams that a list merges, newest first, of which it shows at most `limit` rows. */
  readonly stream: <T extends SelectQueryBuilder<Schema, 'tokens', object>>(query: T, limit: number) => T
  /** The rows that a command reads stay as they are until its end. */
  readonly forShare: <T>(query: T & { forShare(): T }) => T
  /** As `held`, and no other command holds or takes them meanwhile. */
  readonly forUpdate: <T>(query: T & { forUpdate(): T }) => T
  /** Ends a subquery of a condition that is to be asked for each row by itself. */
  readonly rowByRow: RawBuilder<unknown>
  /** The condition with `unknown` read as false, so that it can be negated. */
  readonly unknownIsFalse: (condition: Expression<SqlBool>) => RawBuilder<SqlBool>
}
