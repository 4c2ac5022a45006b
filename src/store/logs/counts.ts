import type { LogCountsTable, Schema } from '../schema.ts'
import type { Session } from '../session.ts'
import { statement } from '../statement.ts'
import type { LogRow } from '../types.ts'
import { monthOf } from '../usage/month.ts'
import { bucketOf, LEVELS } from './levels.ts'

const addCount = statement<LogCountsTable>(({ builder }, slot) =>
  builder
    .insertInto('log_counts')
    .values({
      tenant_id: slot('tenant_id'),
      level: slot('level'),
      bucket: slot('bucket'),
      entity_type: slot('entity_type'),
      count: slot('count'),
    })
    .onConflict((conflict) =>
      conflict
        .columns(['tenant_id', 'level', 'bucket', 'entity_type'])
        .doUpdateSet((eb) => ({ count: eb('log_counts.count', '+', eb.ref('excluded.count')) })),
    ),
)

/** Writes no row when the token was active in that month before. */
const insertActive = statement<Schema['active_tokens']>(({ builder }, slot) =>
  builder
    .insertInto('active_tokens')
    .values({ month: slot('month'), tenant_id: slot('tenant_id'), seq: slot('seq') })
    .onConflict((conflict) => conflict.doNothing()),
)

const addActive = statement<Schema['active_counts']>(({ builder }, slot) =>
  builder
    .insertInto('active_counts')
    .values({ tenant_id: slot('tenant_id'), month: slot('month'), count: slot('count') })
    .onConflict((conflict) =>
      conflict
        .columns(['tenant_id', 'month'])
        .doUpdateSet((eb) => ({ count: eb('active_counts.count', '+', eb.ref('excluded.count')) })),
    ),
)

/** Sums of one command by key, written once each, in one order everywhere: two transactions never wait for each other. */
const tally = <T extends { count: number }>() => {
  const sums = new Map<string, T>()
  return {
    add: (row: Omit<T, 'count'>) => {
      const key = JSON.stringify(Object.values(row))
      const sum = sums.get(key)
      if (sum) sum.count++
      else sums.set(key, { ...row, count: 1 } as T)
    },
    rows: () => [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row),
  }
}

/** Collects what newly ingested logs do to the counts of logs and of active tokens. */
export const createLogCounts = (session: Session) => {
  const logs = tally<LogCountsTable>()
  const active = tally<Schema['active_counts']>()
  return {
    add: async ({ tenant_id, entity_type, created_at, token_seq: seq }: LogRow): Promise<void> => {
      for (const level of LEVELS.keys())
        logs.add({ tenant_id, level, bucket: bucketOf(level, created_at), entity_type })
      if (seq === undefined) return
      const month = monthOf(created_at)
      if ((await session.run(insertActive, { month, tenant_id, seq })) > 0) active.add({ tenant_id, month })
    },
    write: async (): Promise<void> => {
      for (const row of logs.rows()) await session.run(addCount, row)
      for (const row of active.rows()) await session.run(addActive, row)
    },
  }
}
