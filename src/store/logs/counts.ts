import type { LogCountsTable, Schema } from '../schema.ts'
import type { Session } from '../session.ts'
import { statement } from '../statement.ts'
import type { LogRow } from '../types.ts'
import { monthOf } from '../usage/month.ts'
import { countIfBusy, isBusy, SAMPLED } from './busy.ts'
import { bucketOf, LEVELS } from './levels.ts'

const addCount = statement<LogCountsTable>(({ builder }, slot) =>
  builder
    .insertInto('log_counts')
    .values({
      tenant_id: slot('tenant_id'),
      level: slot('level'),
      entity_id: slot('entity_id'),
      bucket: slot('bucket'),
      entity_type: slot('entity_type'),
      count: slot('count'),
    })
    .onConflict((conflict) =>
      conflict
        .columns(['tenant_id', 'level', 'entity_id', 'bucket', 'entity_type'])
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

type Finest = Omit<LogCountsTable, 'level'>

/** Collects what newly ingested logs do to the counts of logs and of active tokens. */
export const createLogCounts = (session: Session) => {
  const finest = tally<Finest>()
  const active = tally<Schema['active_counts']>()
  const entities = new Map<string, LogRow[]>()
  const seen = new Set<string>()

  const countActive = async (tenant_id: string, month: number, seq: number): Promise<void> => {
    const token = `${month} ${seq} ${tenant_id}`
    if (seen.has(token)) return
    seen.add(token)
    if ((await session.run(insertActive, { month, tenant_id, seq })) > 0)
      active.add(`${month} ${tenant_id}`, 1, () => ({ tenant_id, month }))
  }

  const count = ({ tenant_id, entity_type, created_at }: LogRow, entity_id: string): void => {
    const bucket = bucketOf(0, created_at)
    finest.add(`${bucket} ${entity_type} ${tenant_id} ${entity_id}`, 1, () => ({
      tenant_id,
      entity_id,
      bucket,
      entity_type,
    }))
  }

  /** Logs of an entity that has buckets go into them; one that has got many logs gets buckets, of all of its logs. */
  const countEntity = async (logs: readonly LogRow[]): Promise<void> => {
    const [log] = logs
    if (log === undefined || log.entity_id === '') return
    const { tenant_id, entity_id } = log
    if (await isBusy(session, tenant_id, entity_id)) for (const each of logs) count(each, entity_id)
    else if (logs.some(({ journal_seq }) => journal_seq % SAMPLED === 0))
      await countIfBusy(session, tenant_id, entity_id)
  }

  return {
    add: async (log: LogRow): Promise<void> => {
      count(log, '')
      const { tenant_id, entity_id, created_at, token_seq } = log
      const key = `${tenant_id} ${entity_id}`
      const others = entities.get(key)
      if (others) others.push(log)
      else entities.set(key, [log])
      if (token_seq !== undefined) await countActive(tenant_id, monthOf(created_at), token_seq)
    },
    write: async (): Promise<void> => {
      for (const logs of entities.values()) await countEntity(logs)
      const all = tally<LogCountsTable>()
      for (const { bucket: first, count, ...row } of finest.rows())
        for (const level of LEVELS.keys()) {
          const bucket = bucketOf(level, first * LEVELS[0])
          all.add(`${level} ${bucket} ${row.entity_type} ${row.tenant_id} ${row.entity_id}`, count, () => ({
            ...row,
            level,
            bucket,
          }))
        }
      for (const row of all.rows()) await session.run(addCount, row)
      for (const row of active.rows()) await session.run(addActive, row)
    },
  }
}
