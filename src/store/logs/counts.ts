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
    add: (key: string, count: number, row: () => Omit<T, 'count'>) => {
      const sum = sums.get(key)
      if (sum) sum.count += count
      else sums.set(key, { ...row(), count } as T)
    },
    rows: () => [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row),
  }
}

/** Collects what newly ingested logs do to the counts of logs and of active tokens. */
export const createLogCounts = (session: Session) => {
  const finest = tally<LogCountsTable>()
  const active = tally<Schema['active_counts']>()
  const seen = new Set<string>()

  const countActive = async (tenant_id: string, month: number, seq: number): Promise<void> => {
    const token = `${month} ${seq} ${tenant_id}`
    if (seen.has(token)) return
    seen.add(token)
    if ((await session.run(insertActive, { month, tenant_id, seq })) > 0)
      active.add(`${month} ${tenant_id}`, 1, () => ({ tenant_id, month }))
  }

  return {
    add: async ({ tenant_id, entity_type, created_at, token_seq }: LogRow): Promise<void> => {
      const bucket = bucketOf(0, created_at)
      finest.add(`${bucket} ${entity_type} ${tenant_id}`, 1, () => ({
        tenant_id,
        level: 0,
        bucket,
        entity_type,
      }))
      if (token_seq !== undefined) await countActive(tenant_id, monthOf(created_at), token_seq)
    },
    write: async (): Promise<void> => {
      const all = tally<LogCountsTable>()
      for (const { tenant_id, entity_type, bucket: first, count } of finest.rows())
        for (const level of LEVELS.keys()) {
          const bucket = bucketOf(level, first * LEVELS[0])
          all.add(`${level} ${bucket} ${entity_type} ${tenant_id}`, count, () => ({
            tenant_id,
            level,
            bucket,
            entity_type,
          }))
        }
      for (const row of all.rows()) await session.run(addCount, row)
      for (const row of active.rows()) await session.run(addActive, row)
    },
  }
}
