import { LRUCache } from 'lru-cache'
import { type Eventual, whenReady } from '../../common/eventual.ts'

/** Results of a port by key (a hash, an id), cached while nothing changes. */
interface CachedLookup<T> {
  find(key: string): Eventual<T | undefined>
  /** Cached keys, the most recently used first. */
  retained(): readonly string[]
}

/**
 * ms after which an entry is read again although the counter is unchanged: a database writer could roll the
 * counter back, and a revoked key would stay valid in memory.
 */
const MAX_AGE = 60_000

/**
 * Calls a port and caches its results while `changes`, the counter of their collections, is unchanged, so
 * that an acknowledged change holds for the next request. Unknown keys are never cached. `max`: cached results; the
 * least recently used one is dropped first.
 */
export const createCachedLookup = <S, T extends object>(
  port: () => S | undefined,
  ask: (port: S, key: string) => Promise<T | undefined>,
  options: { readonly changes: (port: S) => Eventual<number>; readonly max: number },
): CachedLookup<T> => {
  const { max } = options
  const cache = new LRUCache<string, T>({ max, ttl: MAX_AGE })
  let cachedAt: number | undefined
  const read = async (source: S, key: string, changes: number): Promise<T | undefined> => {
    const value = await ask(source, key)
    // This result may be older than a change that another request has seen concurrently.
    if (value !== undefined && cachedAt === changes) cache.set(key, value)
    return value
  }
  return {
    find(key) {
      const source = port()
      if (source === undefined) return undefined
      return whenReady(options.changes(source), (changes) => {
        if (changes !== cachedAt) {
          cache.clear()
          cachedAt = changes
        }
        const cached = cache.get(key)
        return cached ?? read(source, key, changes)
      })
    },
    retained: () => [...cache.keys()],
  }
}
