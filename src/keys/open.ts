import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import type { Secret } from '../common/secret.ts'
import type { KeyRow, KeyStore } from '../store/types.ts'
import { isKey, type Ring, ringOf } from './ring.ts'
import { createRootKeyring, type RootKeyring } from './root-keyring.ts'
import { versionOf } from './seal.ts'
import type { Keys } from './types.ts'
import { rootIdOf, subkey, type Wrapper } from './wrap.ts'

/** `check` only tells whether the root key is the right one. */
const SERVICE_PURPOSES = ['check', 'api-key', 'audit'] as const

const RINGS = 1000
/** A ring is read again after this many ms, whatever the change counter says. */
const RING_AGE = 60_000
/** A value that names an unknown key version makes a ring be read again at most this often (ms). */
const RELOAD_AGE = 1_000

export interface KeysDeps {
  readonly keys: Pick<KeyStore, 'keys' | 'changes' | 'add'>
  readonly clock: Clock
}

export interface KeysOptions {
  readonly rootKey: Secret<Buffer>
  /** Make the service's own keys when the store holds none. */
  readonly create: boolean
  /** What keeps a new root key, where a key management service wraps it: stored with the first keys. */
  readonly row?: KeyRow | undefined
  /** The root key once more, from where it came: asked when the store is under another one than those known. */
  readonly reload?: () => Promise<Secret<Buffer>>
}

/** The service's own keys, unwrapped; made first when there are none and `create` allows. Nothing else is written. */
const serviceKeys = async (
  { keys, clock }: KeysDeps,
  roots: RootKeyring,
  { create, row: retained }: KeysOptions,
): Promise<ReadonlyMap<string, KeyObject>> => {
  let rows = await keys.keys('')
  if (rows.length === 0) {
    if (!create)
      throw new AppError(
        'gateway_timeout',
        'The store holds no keys yet. Start the admin role first, with the same store and root key: it makes them.',
      )
    const now = clock.now()
    // False means that another process was first: its keys count, not ours.
    const fresh = SERVICE_PURPOSES.map((purpose) =>
      roots.now.current.fresh({ tenant_id: '', purpose, version: 1 }, now),
    )
    await keys.add(retained === undefined ? fresh : [...fresh, retained])
    rows = await keys.keys('')
  }
  await roots.renew()
  const unwrapped = new Map<string, KeyObject>()
  for (const purpose of SERVICE_PURPOSES) {
    const row = rows.find((candidate) => candidate.purpose === purpose)
    if (row === undefined)
      throw new AppError(
        'invalid',
        `The store has lost the service's key "${purpose}". Restore the store from a backup; nothing was changed.`,
      )
    const key = roots.now.unwrap(row)
    if (key === undefined)
      throw new AppError(
        'invalid',
        purpose === 'check' && rootIdOf(row) !== undefined && !roots.now.knows(row)
          ? 'The root key is not the one this store was made with. Set SIDEVAULT_ROOT_KEY (or the key file of the data directory) to the original root key; nothing was changed.'
          : `The service's key "${purpose}" was altered in the store. Restore the store from a backup; nothing was changed.`,
      )
    unwrapped.set(purpose, createSecretKey(purpose === 'check' ? key : subkey(key, purpose)))
    key.fill(0)
  }
  return unwrapped
}

/** A cache of rings: bounded, one load at a time for each tenant, empty as soon as any process has changed a key. */
const ringCache = ({ keys, clock }: KeysDeps, roots: RootKeyring) => {
  const rings = new LRUCache<string, { readonly ring: Ring; readonly at: number }>({ max: RINGS })
  const loading = new Map<string, Promise<Ring>>()
  let cachedAt: number | undefined

  const load = async (tenantId: string, changes: number): Promise<Ring> => {
    const at = clock.now()
    let rows = tenantId === '' ? [] : await keys.keys(tenantId)
    if (rows.some((row) => isKey(row) && !roots.now.knows(row))) {
      await roots.renew()
      // They may have been wrapped anew since they were read.
      rows = await keys.keys(tenantId)
    }
    if (rows.length === 0) {
      rings.delete(tenantId)
      throw new AppError('tenant_not_found', `There is no tenant "${tenantId}".`)
    }
    const ring = ringOf(rows, roots.now)
    if (ring === undefined)
      throw new AppError(
        'internal',
        `The keys of tenant "${tenantId}" do not open. Ask the operator to check the store and the root key.`,
      )
    // A change seen by another call meanwhile may have destroyed these very keys.
    if (cachedAt === changes) rings.set(tenantId, { ring, at })
    return ring
  }

  return async (tenantId: string, opening: readonly Buffer[]): Promise<Ring> => {
    const changes = await keys.changes()
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
      // A clock that was put back makes it younger than it can be.
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
}

/**
 * The keys of the service and of its tenants (docs/security-model.md, "Encryption"). Rejects with a sentence and changes nothing when the root
 * key is not the store's, or a key row is gone or altered (`invalid`), or there are none and none may be made
 * (`gateway_timeout`). Several processes may open the same store at once.
 */
export const openKeys = async (deps: KeysDeps, options: KeysOptions): Promise<Keys> => {
  const roots = createRootKeyring(deps, options)
  const service = await serviceKeys(deps, roots, options)
  const ring = ringCache(deps, roots)
  let rootsAt = await deps.keys.changes()
  /** What new keys are wrapped with: not what this process has heard of only. */
  const current = async (): Promise<Wrapper> => {
    const changes = await deps.keys.changes()
    if (changes !== rootsAt) await roots.renew()
    rootsAt = changes
    return roots.now.current
  }
  return {
    tenant: (tenantId, opening = []) => ring(tenantId, opening),
    newTenantKeys: async (tenantId, now) => {
      const wrapper = await current()
      return ['data', 'mac'].map((purpose) =>
        wrapper.fresh({ tenant_id: tenantId, purpose, version: 1 }, now),
      )
    },
    newDataKey: async (tenantId, version, now) =>
      (await current()).fresh({ tenant_id: tenantId, purpose: 'data', version }, now),
    mac: (purpose, data) => createHmac('sha256', service.get(purpose)!).update(data).digest('hex'),
  }
}
