import { LRUCache } from 'lru-cache'
import type { RecordStore } from '../store/types.ts'

/** What a port answers by a keyed hash, kept while nothing changes. */
export interface CachedLookup<T> {
  find(hash: string): Promise<T | undefined>
  /** Hashes that are kept, the last used first. */
  kept(): readonly string[]
}

/**
 * Asks a port and keeps what it finds while the change counters of its collections stand still, so that what an answer
 * has acknowledged holds for the next request. Unknown hashes are never kept. `max`: answers kept; the least recently
 * used one goes first.
 */
export const createCachedLookup = <S extends { readonly collections: readonly string[] }, T extends object>(
  port: () => S | undefined,
  ask: (port: S, hash: string) => Promise<T | undefined>,
  { records, max }: { readonly records: Pick<RecordStore, 'changes'>; readonly max: number },
): CachedLookup<T> => {
  const cache = new LRUCache<string, T>({ max })
  let cachedAt: number | undefined
  return {
    async find(hash) {
      const source = port()
      if (source === undefined) return undefined
      const changes = await records.changes(source.collections)
      if (changes !== cachedAt) {
        cache.clear()
        cachedAt = changes
      }
      const cached = cache.get(hash)
      if (cached !== undefined) return cached
      const found = await ask(source, hash)
      // A change seen by another request meanwhile may be one that this answer does not know of.
      if (found !== undefined && cachedAt === changes) cache.set(hash, found)
      return found
    },
    kept: () => [...cache.keys()],
  }
}
