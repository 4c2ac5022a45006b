import { LRUCache } from 'lru-cache'
import type { Clock } from '../common/clock.ts'
import type { Claim, SharedState, TakeResult } from './types.ts'

/** Buckets in memory. The least recently used one is evicted and starts full again. */
const MAX_BUCKETS = 100_000
const MINUTE = 60_000

/** Rate-limit buckets of this process. */
interface Buckets {
  take(claims: readonly Claim[]): TakeResult
}

/**
 * Buckets by the generic cell rate algorithm: each is only the time at which it will be full again
 * (https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm).
 */
export const createBuckets = ({ clock }: { readonly clock: Clock }): Buckets => {
  const fullAgain = new LRUCache<string, number>({ max: MAX_BUCKETS })
  return {
    take: (claims) => {
      const now = clock.now()
      const fullIn: number[] = []
      for (const [claim, { bucket, perMinute }] of claims.entries()) {
        let full = fullAgain.get(bucket) ?? now
        // When the clock moves backwards, a client still waits at most a minute.
        if (full > now + MINUTE) {
          full = now + MINUTE
          fullAgain.set(bucket, full)
        }
        const next = Math.max(now, full) + MINUTE / perMinute
        const ms = next - now - MINUTE
        // A rejected call costs nothing. The tolerance covers rounding errors.
        if (ms > 0.001) return { fullIn: [...fullIn, full - now], wait: { claim, ms } }
        fullAgain.set(bucket, next)
        fullIn.push(next - now)
      }
      return { fullIn }
    },
  }
}

/** State of this process alone. */
export const createInProcessState = (deps: { readonly clock: Clock }): SharedState => {
  const buckets = createBuckets(deps)
  return {
    take: (claims) => buckets.take(claims),
    backend: 'own',
    close: async () => {},
  }
}
