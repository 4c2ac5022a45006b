import type { Compilable, Kysely, RawBuilder } from 'kysely'

/** Column types and table endings by engine. */
export interface Columns {
  /** Compared by code point, on both engines: ranges over containers and ids rely on it. */
  readonly text: RawBuilder<unknown>
  readonly integer: RawBuilder<unknown>
  readonly bytes: RawBuilder<unknown>
  /** A growing number, never used twice; the primary key. */
  readonly sequence: RawBuilder<unknown>
  /** Ends a table of rows found by `sequence`, or by another key. */
  readonly table: RawBuilder<unknown>
  /** Ends a table that is stored in the order of its primary key. */
  readonly clustered: RawBuilder<unknown>
}

/** Statements in order. */
// biome-ignore lint/suspicious/noExplicitAny: the tables that a step makes or changes are not today's
export type Statements = (db: Kysely<any>, columns: Columns) => readonly Compilable[]

/** One step of the schema. Released steps never change: a correction is a new step. */
export interface Migration {
  /** 1, 2, … without gaps. */
  readonly version: number
  readonly name: string
  /** They run in one transaction with all other missing steps. */
  readonly up: Statements
}
