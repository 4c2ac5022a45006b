import type { Connection } from '../../../src/store/sqlite/connection.ts'

/** Lines of the plans of statements, as `explain query plan` tells them. */
export const plansOf = (db: Connection, statements: readonly string[]): readonly string[] =>
  statements
    .filter((sql) => /^(with|select|update|delete)/i.test(sql))
    .flatMap((sql) =>
      db
        .prepare(`explain query plan ${sql}`)
        .all()
        .map((row) => (row as { detail: string }).detail),
    )

/**
 * Scans of a bound list, of constants, of rows that an index already found, of the numbers of runs (which are no
 * table), and of the counters, one of each collection.
 */
const HARMLESS = /^SCAN (json_each VIRTUAL|CONSTANT ROW|\d+ CONSTANT|found$|few$|(all_)?runs$|changes$)/

export const scansOf = (plans: readonly string[]): readonly string[] =>
  plans.filter((line) => line.startsWith('SCAN') && !HARMLESS.test(line))
