import { LRUCache } from 'lru-cache'

/** Cached results of a port by key (a hash, an id), valid while nothing changes. */
export interface CachedLookup<T> {
  find(key: string): Promise<T | undefined>
  /** Keys that are kept, the last used first. */
  retained(): readonly string[]
}

/**
 * ms after which an entry is read again although the counter stands still: whoever writes the database could put the
 * counter back, and a revoked key would live on in memory.
 */
const MAX_AGE = 60_000

/**
 * Asks a port and keeps what it finds while `changes`, the counter of whatever its answers depend on, stands still, so
 * that an acknowledged change holds for the next request. Unknown keys are never cached. `max`: cached results; the
 * least recently used one goes first.
 */
export const createCachedLookup = <S, T extends object>(
  port: () => S | undefined,
  ask: (port: S, key: string) => Promise<T | undefined>,
  options: { readonly changes: (port: S) => Promise<number>; readonly max: number },
): CachedLookup<T> => {
  const { max } = options
  const cache = new LRUCache<string, T>({ max, ttl: MAX_AGE })
  let cachedAt: number | undefined
  return {
    async find(key) {
      const source = port()
      if (source === undefined) return undefined
      const changes = await options.changes(source)
      if (changes !== cachedAt) {
        cache.clear()
        cachedAt = changes
      }
      const cached = cache.get(key)
      if (cached !== undefined) return cached
      const found = await ask(source, key)
      // A change seen by another request in between may be one that this result misses.
      if (found !== undefined && cachedAt === changes) cache.set(key, found)
      return found
    },
    retained: () => [...cache.keys()],
  }
}
