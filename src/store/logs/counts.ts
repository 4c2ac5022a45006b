import type { LogCountsTable, Schema } from '../schema.ts'
import type { Session } from '../session.ts'
import { statement } from '../statement.ts'
import type { LogRow } from '../types.ts'
import { monthOf } from '../usage/month.ts'
import { busyOf, countIfBusy, SAMPLED } from './busy.ts'
import { bucketOf, LEVELS } from './levels.ts'

const addCount = statement<LogCountsTable>(({ builder, rows }, slot) =>
  builder
    .insertInto('log_counts')
    .columns(['tenant_id', 'level', 'entity_id', 'bucket', 'entity_type', 'count'])
    .expression(
      rows(slot, {
        tenant_id: 'text',
        level: 'bigint',
        entity_id: 'text',
        bucket: 'bigint',
        entity_type: 'text',
        count: 'bigint',
      }),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['tenant_id', 'level', 'entity_id', 'bucket', 'entity_type'])
        .doUpdateSet((eb) => ({ count: eb('log_counts.count', '+', eb.ref('excluded.count')) })),
    ),
)

/** Writes no row when the token was active in that month before. */
const insertActive = statement<Schema['active_tokens']>(({ builder, rows }, slot) =>
  builder
    .insertInto('active_tokens')
    .columns(['month', 'tenant_id', 'seq'])
    .expression(rows(slot, { month: 'bigint', tenant_id: 'text', seq: 'bigint' }))
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
  const logs: LogRow[] = []

  /** How many tokens were active in a month for the first time, by tenant. */
  const writeActive = async (): Promise<void> => {
    const seqs = new Map<string, Set<number>>()
    for (const { tenant_id, created_at, token_seq } of logs) {
      if (token_seq === undefined) continue
      const key = `${monthOf(created_at)} ${tenant_id}`
      seqs.set(key, (seqs.get(key) ?? new Set()).add(token_seq))
    }
    for (const [key, tokens] of [...seqs].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const [month, tenant_id] = key.split(' ') as [string, string]
      const group = { month: Number(month), tenant_id }
      const count = await session.runAll(
        insertActive,
        [...tokens].map((seq) => ({ ...group, seq })),
      )
      if (count > 0) await session.run(addActive, { ...group, count })
    }
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
  const countEntities = async (tenant_id: string, of: readonly LogRow[]): Promise<void> => {
    const entities = Map.groupBy(of, ({ entity_id }) => entity_id)
    const busy = await busyOf(session, tenant_id, [...entities.keys()])
    for (const [entity_id, logs] of entities) {
      if (busy.has(entity_id)) for (const log of logs) count(log, entity_id)
      else if (entity_id !== '' && logs.some(({ journal_seq }) => journal_seq % SAMPLED === 0))
        await countIfBusy(session, tenant_id, entity_id)
    }
  }

  return {
    add: (log: LogRow): void => {
      logs.push(log)
    },
    write: async (): Promise<void> => {
      for (const log of logs) count(log, '')
      for (const [tenantId, of] of Map.groupBy(logs, ({ tenant_id }) => tenant_id))
        await countEntities(tenantId, of)
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
      await session.runAll(addCount, all.rows())
      await writeActive()
    },
  }
}
