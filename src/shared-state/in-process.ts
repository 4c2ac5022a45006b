import { LRUCache } from 'lru-cache'
import type { Clock } from '../common/clock.ts'
import type { SharedState } from './types.ts'

/** Buckets that are kept; the one that was asked longest ago goes first, as if it had never been. */
const MAX_BUCKETS = 100_000
const MINUTE = 60_000

/**
 * State of this process alone. Buckets by the generic cell rate algorithm: of each only the time is kept at which it would
 * be full again (https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm).
 */
export const createInProcessState = ({ clock }: { readonly clock: Clock }): SharedState => {
  const fullAgain = new LRUCache<string, number>({ max: MAX_BUCKETS })
  return {
    take: async (bucket, { perMinute }) => {
      const now = clock.now()
      const each = MINUTE / perMinute
      const next = Math.max(now, fullAgain.get(bucket) ?? 0) + each
      const wait = next - now - MINUTE
      // A call that is told to wait costs nothing. (Sums of fractions may miss by a hair.)
      if (wait > 0.001) return wait
      fullAgain.set(bucket, next)
      return 0
    },
    close: async () => fullAgain.clear(),
  }
}
