import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/** Totals up to this are exact at any time. */
const EXACT = 10_000
/** Maximum age of a larger total, ms. */
const MAX_AGE_MS = 10_000
const MAX_STORED = 1_000

interface Known {
  readonly total: number
  /** Start of the count. */
  readonly at: number
}

/**
 * Cache of totals that took long to count: a walk over pages counts once, and concurrent callers share a count
 * (completions §3). `now`: ms of a monotonic clock.
 */
export const createTotals = (now: () => number = () => performance.now()) => {
  const stored = new LRUCache<string, Known>({ max: MAX_STORED })
  const running = new Map<string, Promise<Known>>()

  const isFresh = (known: Known | undefined): known is Known =>
    known !== undefined && known.total > EXACT && now() - known.at <= MAX_AGE_MS

  const counted = (key: string, count: () => Promise<number>): Promise<Known> => {
    const at = now()
    const run = count()
      .then((total) => ({ total, at }))
      .finally(() => {
        if (running.get(key) === run) running.delete(key)
      })
    running.set(key, run)
    return run
  }

  return {
    /** `query`: what is counted, as plain data that determines the total. */
    of: async (query: object, count: () => Promise<number>): Promise<number> => {
      const key = createHash('sha256').update(JSON.stringify(query)).digest('base64')
      const known = stored.get(key)
      if (isFresh(known)) return known.total
      const started = running.get(key)
      const shared = started && (await started)
      if (isFresh(shared)) return shared.total
      const fresh = await counted(key, count)
      if (fresh.total > EXACT) stored.set(key, fresh)
      else stored.delete(key)
      return fresh.total
    },
  }
}
