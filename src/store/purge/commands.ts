import type { Session } from '../session.ts'
import { allKinds, deleteRecordsOf } from '../tenants/statements.ts'
import { monthOf } from '../usage/month.ts'
import {
  fullTenants,
  markEmptied,
  OF_TENANT,
  purgeActive,
  purgeIdempotencyKeys,
  purgeRecords,
  purgeShown,
} from './statements.ts'

/** ms after a tenant's deletion in which running calls and journals may still write rows of it. */
const LATE_WRITES_MS = 60 * 60_000

const emptyTenant = async (session: Session, tenant_id: string, limit: number): Promise<number> => {
  let removed = 0
  for (const statement of OF_TENANT) removed += await session.run(statement, { tenant_id, limit })
  for (const { kind } of await session.all(allKinds, {}))
    removed += await session.run(deleteRecordsOf, { collection: kind, tenant_id })
  return removed
}

/** Returns the number of removed rows, at most about `limit` of each kind. */
export const purgeDeletedTenants = async (
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
  for (const { id, deleted_at } of await session.all(fullTenants, {})) {
    const rows = await emptyTenant(session, id, limit)
    if (rows === 0 && deleted_at + LATE_WRITES_MS < now)
      await session.run(markEmptied, { id, emptied_at: now })
    removed += rows
  }
  return removed
}
