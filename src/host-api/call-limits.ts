/**
 * Limits of concurrent `bt` calls. Code starts dozens at once, and the process that runs them serves all tenants: 960
 * reads of 1 MB in one turn of the event loop delayed other calls by 13 s.
 */
import { AppError } from '../common/errors.ts'
import { yieldIfDue } from '../common/event-loop.ts'
import { createKeyedSemaphore } from '../common/keyed-mutex.ts'
import { createShares } from '../common/shares.ts'

/** Concurrent calls of one invocation, and of one tenant; more wait in order. */
const OF_INVOCATION = 4
const OF_TENANT = 8
/** Calls of all tenants that run or wait. */
const CALLS = 1_024

const ended = () => new AppError('gateway_timeout', 'The invocation has ended.')

/**
 * `vault`: waits for its turn. `code`: a reactor, whose own calls wait instead. If it held a place, nested reactors
 * could hold all of them and wait for each other.
 */
type CallKind = 'vault' | 'code'

/** Runs one `bt` call. Rejects with `rate_limited` beyond the tenant's share. */
type RunCall = <T>(kind: CallKind, signal: AbortSignal, work: () => Promise<T>) => Promise<T>

/** Returns the limits of one invocation of a tenant. */
export const createCallLimits = (): ((tenantId: string) => RunCall) => {
  const calls = createShares(CALLS, 'Code of this tenant makes too many concurrent calls of bt. Retry later.')
  const ofTenant = createKeyedSemaphore(OF_TENANT)

  return (tenantId) => {
    const ofInvocation = createKeyedSemaphore(OF_INVOCATION)

    const inTurn = async <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
      if (signal.aborted) throw ended()
      await yieldIfDue(true)
      if (signal.aborted) throw ended()
      return work()
    }

    return async (kind, signal, work) => {
      const share = calls.take(1, tenantId)
      try {
        if (kind === 'code') return await inTurn(signal, work)
        return await ofInvocation('', () => ofTenant(tenantId, () => inTurn(signal, work)))
      } finally {
        share.release()
      }
    }
  }
}
