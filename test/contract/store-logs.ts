import type { Test } from 'tap'
import type { LogFilter } from '../../src/store/logs/types.ts'
import { aLog, NOW } from '../store/kit.ts'
import { numbers } from './numbers.ts'
import type { OpenStore } from './store-contract.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

export const storeLogs = async (t: Test, open: OpenStore): Promise<void> => {
  await t.test('every page of every filter equals a slice of all logs sorted', async (t) => {
    const { logs } = await open(t)
    const next = numbers(7)
    const rows = Array.from({ length: 2_000 }, (_, index) =>
      aLog(index, {
        tenant_id: next(10) === 0 ? 'tenant-b' : 'tenant-a',
        entity_type: ['card', 'token', 'proxy'][next(3)]!,
        entity_id: `e${[0, 0, 0, 0, 0, 1, 2, 3][next(8)]}`,
        actor_id: [null, 'a1', 'a2'][next(3)]!,
        operation: ['read', 'use'][next(2)]!,
        // Bursts of equal and near times, and gaps of weeks, not in order.
        created_at: NOW + next(4) * 20 * DAY + next(3) * HOUR + next(5) * 1_000 + next(2),
        message: String(index),
      }),
    )
    for (let at = 0; at < rows.length; at += 100) await logs.ingest(rows.slice(at, at + 100))
    await logs.ingest(rows.slice(0, 50))
    t.equal(await logs.count({ tenantId: 'tenant-c' }), 0)
    t.strictSame(await logs.list({ tenantId: 'tenant-c', size: 5, offset: 3 }), [])

    const filters: Omit<LogFilter, 'tenantId'>[] = [
      {},
      { entityType: 'token' },
      { entityType: 'none' },
      { entityId: 'e0' },
      { entityId: 'e0', entityType: 'card' },
      { entityId: 'e0', from: NOW + 1_000, to: NOW + 40 * DAY + 3_001 },
      { entityId: 'e1' },
      { entityId: 'e1', entityType: 'card' },
      { from: NOW + 20 * DAY },
      { to: NOW + 20 * DAY + HOUR + 2_000 },
      { from: NOW + 1_000, to: NOW + 40 * DAY + 3_001 },
      { from: NOW + HOUR, to: NOW + 60 * DAY, entityType: 'proxy' },
      { from: NOW + DAY, to: NOW + DAY },
      { from: NOW + 2 * DAY, to: NOW + DAY },
      { actorId: 'a1' },
      { actorId: 'none' },
      { operation: 'use' },
      { operation: 'read', actorId: 'a2', from: NOW + 20 * DAY },
      { operation: 'use', entityId: 'e0', entityType: 'card' },
      { actorId: 'a2', entityType: 'token', to: NOW + 40 * DAY },
    ]
    for (const tenantId of ['tenant-a', 'tenant-b'])
      for (const filter of filters) {
        const name = `${tenantId} ${JSON.stringify(filter)}`
        const wanted = rows
          .map((row, index) => ({ ...row, index }))
          .filter(
            (row) =>
              row.tenant_id === tenantId &&
              (filter.entityType === undefined || row.entity_type === filter.entityType) &&
              (filter.entityId === undefined || row.entity_id === filter.entityId) &&
              (filter.actorId === undefined || row.actor_id === filter.actorId) &&
              (filter.operation === undefined || row.operation === filter.operation) &&
              row.created_at >= (filter.from ?? 0) &&
              row.created_at < (filter.to ?? Number.POSITIVE_INFINITY),
          )
          .sort((a, b) => b.created_at - a.created_at || b.index - a.index)
          .map(({ message }) => message)
        t.equal(await logs.count({ tenantId, ...filter }), wanted.length, name)
        const pages: string[] = []
        for (let offset = 0; offset <= wanted.length; offset += 37) {
          const page = await logs.list({ tenantId, ...filter, size: 37, offset })
          pages.push(...page.map(({ message }) => message))
        }
        t.strictSame(pages, wanted, `${name} by offset`)
        const walked: string[] = []
        let after: { created_at: number; seq: number } | undefined
        for (;;) {
          const page = await logs.list({ tenantId, ...filter, size: 50, ...(after ? { after } : {}) })
          walked.push(...page.map(({ message }) => message))
          const last = page.at(-1)
          if (last === undefined) break
          after = last
        }
        t.strictSame(walked, wanted, `${name} by key`)
      }
  })

  await t.test('tokens active in a month count once, however often they are logged', async (t) => {
    const { logs, usage } = await open(t)
    const january = Date.UTC(2030, 0, 1)
    const february = Date.UTC(2030, 1, 1)
    await logs.ingest([
      aLog(1, { created_at: january, token_seq: 1 }),
      aLog(2, { created_at: february - 1, token_seq: 1 }),
      aLog(3, { created_at: february - 1, token_seq: 2 }),
      aLog(4, { created_at: february, token_seq: 1 }),
      aLog(5, { created_at: february, token_seq: 3, tenant_id: 'tenant-b' }),
      aLog(6, { created_at: february }),
    ])
    await logs.ingest([aLog(3, { created_at: february - 1, token_seq: 2 })])
    await logs.ingest([aLog(7, { created_at: january + 5, token_seq: 2 })])
    t.equal(await usage.active('tenant-a', january), 2)
    t.equal(await usage.active('tenant-a', february - 1), 2)
    t.equal(await usage.active('tenant-a', february), 1)
    t.equal(await usage.active('tenant-b', february + DAY), 1)
    t.equal(await usage.active('tenant-c', february), 0)
  })
}
