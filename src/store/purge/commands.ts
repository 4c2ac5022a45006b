import { allKinds } from '../changes.ts'
import { defineCommand } from '../command.ts'
import type { Session } from '../session.ts'
import { monthOf } from '../usage/month.ts'
import {
  markEmptied,
  OF_TENANT,
  purgeActive,
  purgeIdempotencyKeys,
  purgeRecords,
  purgeShown,
  recordsOf,
} from './statements.ts'

/** ms after a tenant's deletion in which running calls and journals may still write rows of it. */
const LATE_WRITES_MS = 60 * 60_000

/** Returns the number of removed rows, at most `limit` of each table. */
export const purgeExpired = defineCommand({
  name: 'purge.expired',
  run: async (
    session: Session,
    { now, limit }: { readonly now: number; readonly limit: number },
  ): Promise<number> => {
    await session.lock('purge')
    let removed = 0
    removed += await session.run(purgeRecords, { now, limit })
    removed += await session.run(purgeIdempotencyKeys, { now, limit })
    removed += await session.run(purgeShown, { now, limit })
    // Records of last month may not be ingested yet.
    removed += await session.run(purgeActive, { month: monthOf(now) - 1, limit })
    return removed
  },
  tenantOf: () => undefined,
  scope: 'service',
  isEffect: false,
  isMaintenance: true,
  movesCounters: false,
  destroysKeys: false,
})

/** Returns the number of removed rows, at most `limit` of each table. */
export const purgeDeletedTenant = defineCommand({
  name: 'purge.deleted-tenant',
  run: async (
    session: Session,
    {
      tenantId: tenant_id,
      deletedAt,
      now,
      limit,
    }: {
      readonly tenantId: string
      readonly deletedAt: number
      readonly now: number
      readonly limit: number
    },
  ): Promise<number> => {
    await session.lock('purge')
    let removed = 0
    for (const statement of OF_TENANT) removed += await session.run(statement, { tenant_id, limit })
    let records = 0
    for (const { kind: collection } of await session.all(allKinds, {}))
      if (records < limit)
        records += await session.run(recordsOf, { collection, tenant_id, limit: limit - records })
    removed += records
    if (removed === 0 && deletedAt + LATE_WRITES_MS < now)
      await session.run(markEmptied, { id: tenant_id, emptied_at: now })
    return removed
  },
  tenantOf: () => undefined,
  scope: 'service',
  isEffect: false,
  isMaintenance: true,
  movesCounters: false,
  destroysKeys: false,
})
