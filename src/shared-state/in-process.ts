import { LRUCache } from 'lru-cache'
import type { Clock } from '../common/clock.ts'
import type { Claim, SharedState, Wait } from './types.ts'

/** Buckets that are kept; the one that was asked longest ago goes first, as if it had never been. */
const MAX_BUCKETS = 100_000
const MINUTE = 60_000

/** What is counted in this process, without waiting. */
export interface Buckets {
  take(claims: readonly Claim[]): Wait | undefined
}

/**
 * Buckets by the generic cell rate algorithm: of each only the time is kept at which it would be full again
 * (https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm).
 */
export const createBuckets = ({ clock }: { readonly clock: Clock }): Buckets => {
  const fullAgain = new LRUCache<string, number>({ max: MAX_BUCKETS })
  return {
    take: (claims) => {
      const now = clock.now()
      for (const [claim, { bucket, perMinute }] of claims.entries()) {
        let full = fullAgain.get(bucket) ?? now
        // A clock that was put back may not make anybody wait for longer than a minute.
        if (full > now + MINUTE) {
          full = now + MINUTE
          fullAgain.set(bucket, full)
        }
        const next = Math.max(now, full) + MINUTE / perMinute
        const ms = next - now - MINUTE
        // A call that is told to wait costs nothing. (Sums of fractions may miss by a hair.)
        if (ms > 0.001) return { claim, ms }
        fullAgain.set(bucket, next)
      }
      return undefined
    },
  }
}

/** State of this process alone. */
export const createInProcessState = (deps: { readonly clock: Clock }): SharedState => {
  const buckets = createBuckets(deps)
  return {
    take: async (claims) => buckets.take(claims),
    announce: () => {},
    listen: () => {},
    reach: 'own',
    close: async () => {},
  }
}
