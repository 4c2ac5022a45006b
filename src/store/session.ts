import type { Compilable } from 'kysely'
import type { Dialect } from './dialect.ts'
import type { Statement } from './statement.ts'

/** One connection, as repositories and commands see it on either engine. */
export interface Session {
  readonly dialect: Dialect
  all<P extends object, R>(statement: Statement<P, R>, values: P): Promise<readonly R[]>
  get<P extends object, R>(statement: Statement<P, R>, values: P): Promise<R | undefined>
  /** An insert of one row, built by `dialect.numbered`: the row's `seq`, undefined when none was written. */
  insert<P extends object>(statement: Statement<P, { seq: number }>, values: P): Promise<number | undefined>
  /** How many rows were written. */
  run<P extends object, R>(statement: Statement<P, R>, values: P): Promise<number>
  /**
   * As `run` for each of these rows, in order, with one statement for all rows of a tenant where the engine can: one that
   * is built with `dialect.each`.
   */
  runAll<P extends object>(statement: Statement<P, unknown>, rows: readonly P[]): Promise<number>
  /** For queries of one tenant whose text depends on the request (lists, searches): compiled on each call. */
  query<R>(query: Compilable<R>, tenantId: string): Promise<readonly R[]>
  /** The same where many rows may be looked at: interrupted after 10 s with `invalid`, and never in others' way. */
  search<R>(query: Compilable<R>, tenantId: string): Promise<readonly R[]>
  /**
   * Inside a command: waits until no other transaction holds a lock of this name, and holds it to the end. Needed
   * where a check spans rows that do not exist yet; SQLite's writers are one after the other anyway. What the command
   * reads from then on holds all that earlier holders wrote. `shared`: besides others that share it.
   */
  lock(name: string, how?: 'shared'): Promise<void>
}
