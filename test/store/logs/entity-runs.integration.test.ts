import { join } from 'node:path'
import t from 'tap'
import type { LogListRow } from '../../../src/store/logs/types.ts'
import { storeInThread } from '../../kit/store-in-thread.ts'
import { NOW } from '../kit.ts'

/** Logs of five runs. */
const COUNT = 9_000
const ENTITIES = ['busy', 'often', 'rare', 'absent'] as const

const { store, db } = storeInThread(join(t.testdir({}), 'a.db'))
t.teardown(() => store.close())

/** Times in no order, of which several logs have the same: ingested late, or under clocks that differ. */
db.exec(`with recursive n (i) as (select 1 union all select i + 1 from n where i < ${COUNT})
  insert into logs (tenant_id, entity_type, entity_id, operation, message, trace_id, created_at, journal, journal_seq, hash)
  select iif(i % 5 = 0, 'tenant-b', 'tenant-a'), iif(i % 3 = 0, 'card', 'token'),
    case when i % 1999 = 0 then 'rare' when i % 40 = 0 then 'often' when i % 2 = 0 then 'busy' else 'e-' || i end,
    iif(i % 7 = 0, 'use', 'read'), 'Card retrieved', 'trace', ${NOW} + (i * 7919) % 1000, 'filled', i, '' from n`)
const all = db.prepare('select * from logs').all() as LogListRow[]

const newestFirst = (a: LogListRow, b: LogListRow) => b.created_at - a.created_at || b.seq - a.seq
const seqs = (rows: readonly LogListRow[]) => rows.map(({ seq }) => seq)

t.test('logs of one entity are listed and counted over all runs, newest first', async (t) => {
  for (const entityId of ENTITIES)
    for (const filter of [
      {},
      { entityType: 'card' },
      { operation: 'use' },
      { from: NOW + 100, to: NOW + 900 },
    ]) {
      const name = JSON.stringify({ entityId, ...filter })
      const { entityType, operation, from, to } = filter as Record<string, never>
      const expected = all
        .filter((row) => row.tenant_id === 'tenant-a' && row.entity_id === entityId)
        .filter((row) => entityType === undefined || row.entity_type === entityType)
        .filter((row) => operation === undefined || row.operation === operation)
        .filter((row) => from === undefined || (row.created_at >= from && row.created_at < (to ?? 0)))
        .sort(newestFirst)
      const query = { tenantId: 'tenant-a', entityId, ...filter }
      t.equal(await store.logs.count(query), expected.length, `${name}: count`)
      const paged: number[] = []
      for (let after: LogListRow | undefined; ; ) {
        const page = await store.logs.list({ ...query, size: 300, ...(after ? { after } : {}) })
        if (page.length === 0) break
        paged.push(...seqs(page))
        after = page.at(-1)
      }
      t.same(paged, seqs(expected), `${name}: by cursor`)
      for (const offset of [1, 250])
        t.same(
          seqs(await store.logs.list({ ...query, size: 20, offset })),
          seqs(expected.slice(offset, offset + 20)),
          `${name}: from ${offset}`,
        )
    }
})
