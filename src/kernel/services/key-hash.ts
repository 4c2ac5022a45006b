import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Keys } from '../../keys/types.ts'

/** Cached hashes; the least recently used one is dropped first. */
const RETAINED = 10_000

/** Characters of a key. Longer ones are unknown. */
const MAX_LENGTH = 200

/**
 * The keyed hash of an API key, undefined for one that is too long to exist. Cached under its plain SHA-256, which
 * takes a quarter of the time: keys themselves (192 random bits) are not cached.
 */
export const createKeyHash = (keys: Pick<Keys, 'mac'>): ((key: string) => string | undefined) => {
  const known = new LRUCache<string, string>({ max: RETAINED })
  return (key) => {
    if (key.length > MAX_LENGTH) return undefined
    const digest = hash('sha256', key, 'base64')
    let keyed = known.get(digest)
    if (keyed === undefined) {
      keyed = keys.mac('api-key', key)
      known.set(digest, keyed)
    }
    return keyed
  }
}
