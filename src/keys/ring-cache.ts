import { LRUCache } from 'lru-cache'
import type { Clock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import { type Eventual, whenReady } from '../common/eventual.ts'
import type { KeyStore } from '../store/keys/types.ts'
import type { Ring } from './ring.ts'
import { versionOf } from './seal.ts'

const RINGS = 1000
/** Rings are reloaded at this age (ms), even if the change counter is unchanged. */
const RING_AGE = 60_000
/** Minimum age (ms) at which an unknown key version reloads a ring. */
const RELOAD_AGE = 1_000

export interface RingDeps {
  readonly keys: Pick<KeyStore, 'keys' | 'changes'>
  readonly clock: Clock
}

/** LRU cache of rings. `read` loads each tenant once at a time. Cleared when any process changes a key. */
export const ringCache = ({ keys, clock }: RingDeps, read: (tenantId: string) => Promise<Ring>) => {
  const rings = new LRUCache<string, { readonly ring: Ring; readonly at: number }>({ max: RINGS })
  const loading = new Map<string, Promise<Ring>>()
  let cachedAt: number | undefined

  const load = async (tenantId: string, changes: number): Promise<Ring> => {
    const at = clock.now()
    let ring: Ring
    try {
      ring = await read(tenantId)
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code === 'tenant_not_found') rings.delete(tenantId)
      throw thrown
    }
    // Another call may have seen a change that destroyed these keys.
    if (cachedAt === changes) rings.set(tenantId, { ring, at })
    return ring
  }

  const ringAt = (tenantId: string, opening: readonly Buffer[], changes: number): Eventual<Ring> => {
    if (changes !== cachedAt) {
      rings.clear()
      loading.clear()
      cachedAt = changes
    }
    const cached = rings.get(tenantId)
    if (cached !== undefined) {
      const age = clock.now() - cached.at
      const unknown =
        cached.ring.missed ||
        opening.some((sealed) => {
          const version = versionOf(sealed)
          return version !== undefined && !cached.ring.holds(version)
        })
      // The age is negative after the clock was set back.
      if (age >= 0 && age < (unknown ? RELOAD_AGE : RING_AGE)) return cached.ring
    }
    let promise = loading.get(tenantId)
    if (promise === undefined) {
      const fresh = load(tenantId, changes).finally(() => {
        if (loading.get(tenantId) === fresh) loading.delete(tenantId)
      })
      loading.set(tenantId, fresh)
      promise = fresh
    }
    return promise
  }
  return (tenantId: string, opening: readonly Buffer[]): Eventual<Ring> =>
    whenReady(keys.changes(), (changes) => ringAt(tenantId, opening, changes))
}
