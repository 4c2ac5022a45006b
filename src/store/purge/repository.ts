import type { Session } from '../session.ts'
import type { Writer } from '../writer.ts'
import { purgeDeletedTenant, purgeExpired } from './commands.ts'
import { fullTenants } from './statements.ts'
import type { TenantPurge } from './types.ts'

/** Each deleted tenant has a transaction of its own: a failure leaves the others purged, and is thrown at the end. */
export const createTenantPurge = ({
  session,
  writer,
}: {
  readonly session: Session
  readonly writer: Writer
}): TenantPurge => ({
  purge: async (now, limit) => {
    let removed = 0
    const errors: unknown[] = []
    const add = async (work: Promise<number>): Promise<void> => {
      try {
        removed += await work
      } catch (thrown) {
        errors.push(thrown)
      }
    }
    await add(writer.write(purgeExpired, { now, limit }))
    for (const { id: tenantId, deleted_at: deletedAt } of await session.all(fullTenants, {}))
      await add(writer.write(purgeDeletedTenant, { tenantId, deletedAt, now, limit }))
    if (errors.length > 0) throw errors[0]
    return removed
  },
})
