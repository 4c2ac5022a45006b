import { concurrentChange } from '../../common/errors.ts'
import type { IdempotencyLease } from '../lease.ts'
import type { Session } from '../session.ts'
import { markEffects } from './statements.ts'

/** Runs at the end of a holder's write, in its transaction. */
export const requireLease = async (session: Session, lease: IdempotencyLease): Promise<void> => {
  const { tenantId: tenant_id, key, holder, expiresAt: expires_at } = lease
  if ((await session.run(markEffects, { tenant_id, key, holder, expires_at })) === 0)
    throw concurrentChange(
      'Another request with this idempotency key started because this one took too long; nothing was written. Retry after it completes.',
      { retryAfter: 1 },
    )
}
