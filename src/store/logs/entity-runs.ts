import { type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import type { Schema } from '../schema.ts'
import type { Session } from '../session.ts'

/** Run of a log, of 2,048 consecutive ones. The index `logs_entity` on SQLite starts with it, in these words. */
export const RUN = sql<number>`seq >> 11`

type Logs = SelectQueryBuilder<Schema, 'logs', object>

/** Numbers of all runs. */
const RUNS = sql<{
  n: number
}>`(with recursive all_runs (n) as (select coalesce(max(seq), 0) >> 11 from logs union all select n - 1 from all_runs where n > 0) select n from all_runs)`

/** Logs of these runs, by a lookup in the index for each. A cross join is not reordered. */
const within = ({ dialect }: Session, runs: typeof RUNS): Logs =>
  dialect.builder
    .selectFrom(runs.as('runs'))
    .crossJoin('logs')
    .where(sql<SqlBool>`${RUN} = runs.n`) as unknown as Logs

/** Base of a count of one entity's logs. */
export const inEachRun = (session: Session): Logs => within(session, RUNS)

/**
 * Base of a list of at most `limit` logs of one entity, newest first, whose conditions `filtered` adds. The newest
 * `limit` logs are in the `limit` runs whose own newest one is newest, so a busy entity's other runs are not read.
 */
export const inNewestRuns = (session: Session, limit: number, filtered: (logs: Logs) => Logs): Logs => {
  const newest = filtered(session.dialect.builder.selectFrom('logs'))
    .where(sql<SqlBool>`${RUN} = runs.n`)
    .select('created_at')
    .orderBy('created_at', 'desc')
    .limit(sql.lit(1))
  const runs = sql<{
    n: number
  }>`(select n from (select n, ${newest} as newest from ${RUNS} as runs) where newest is not null order by newest desc, n desc limit ${limit})`
  return filtered(within(session, runs))
}
