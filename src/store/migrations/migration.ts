import type { Compilable, Kysely, RawBuilder } from 'kysely'
import type { Dialect } from '../dialect.ts'

/** Column types and table endings by engine. */
export interface Columns {
  readonly engine: Dialect['engine']
  /** Compared by code point on both engines: ranges over containers and ids rely on it. */
  readonly text: RawBuilder<unknown>
  readonly integer: RawBuilder<unknown>
  readonly bytes: RawBuilder<unknown>
  /** A growing number that is never reused; the primary key. */
  readonly sequence: RawBuilder<unknown>
  /** Ends a table whose rows are found by `sequence` or another key. */
  readonly table: RawBuilder<unknown>
  /** Ends a table stored in the order of its primary key. */
  readonly clustered: RawBuilder<unknown>
}

/** Statements in order. */
// biome-ignore lint/suspicious/noExplicitAny: the tables of a migration differ from today's schema
export type Statements = (db: Kysely<any>, columns: Columns) => readonly Compilable[]

/** One migration. Released migrations never change: a correction is a new one. */
export interface Migration {
  /** 1, 2, … without gaps. */
  readonly version: number
  readonly name: string
  /** Run in one transaction with all other pending migrations. */
  readonly up: Statements
}
