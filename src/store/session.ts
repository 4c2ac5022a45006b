import type { Compilable } from 'kysely'
import type { Eventual } from '../common/eventual.ts'
import type { Dialect, NumberedRow } from './dialect.ts'
import type { Statement } from './statement.ts'

/** A row that is numbered as it is inserted. */
interface Numbered {
  readonly tenant_id: string
  readonly id: string
}

/** One connection, as repositories and commands use it on either engine. */
export interface Session {
  readonly dialect: Dialect
  all<P extends object, R>(statement: Statement<P, R>, values: P): Eventual<readonly R[]>
  get<P extends object, R>(statement: Statement<P, R>, values: P): Eventual<R | undefined>
  /** `get` for each of these rows, those that were found. The statement must be built with `dialect.forEachRow`. */
  getAll<P extends object, R>(statement: Statement<P, R>, rows: readonly P[]): Promise<ReadonlyMap<P, R>>
  /** An insert of one row, built by `dialect.numbered`: the row's `seq`, undefined when none was written. */
  insert<P extends object>(statement: Statement<P, NumberedRow>, values: P): Promise<number | undefined>
  /** `insert` for each of these rows, in order, without those that were not written. An id is unique in its tenant. */
  insertAll<P extends Numbered>(
    statement: Statement<P, NumberedRow>,
    rows: readonly P[],
  ): Promise<ReadonlyMap<P, number>>
  /** Number of rows written. */
  run<P extends object, R>(statement: Statement<P, R>, values: P): Promise<number>
  /**
   * `run` for each of these rows, in order; one statement for all rows of a tenant where the engine supports it. The
   * statement must be built with `dialect.valuesOf`.
   */
  runAll<P extends object>(statement: Statement<P, unknown>, rows: readonly P[]): Promise<number>
  /** For queries of one tenant whose text depends on the request (lists, searches): compiled on each call. */
  query<R>(query: Compilable<R>, tenantId: string): Promise<readonly R[]>
  /**
   * Runs a query that may scan many rows, as `query` does: interrupted after 10 s with `invalid`, without blocking
   * others.
   */
  search<R>(query: Compilable<R>, tenantId: string): Promise<readonly R[]>
  /**
   * Inside a command: acquires a lock of this name until its end. Needed where a check spans rows that do not exist
   * yet; SQLite's writers run one after the other anyway. Later reads of the command include all writes of earlier
   * holders.
   * `shared`: concurrent with other shared holders.
   */
  lock(name: string, how?: 'shared'): Promise<void>
  /** `lock` for each of these names, in one order everywhere. */
  lockAll(names: readonly string[]): Promise<void>
  /**
   * Inside maintenance: true once a call waits for its end, which then shares its transaction. Never on PostgreSQL,
   * where calls have connections of their own.
   */
  isAwaited(): boolean
}
