import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import { type Eventual, whenReady } from '../common/eventual.ts'
import { Secret } from '../common/secret.ts'
import type { KeyRow, KeyStore } from '../store/keys/types.ts'
import { isKey, type Ring, ringOf } from './ring.ts'
import { createRootKeyring, type RootKeyring } from './root-keyring.ts'
import { versionOf } from './seal.ts'
import type { Keys, ServiceKey } from './types.ts'
import { rootIdOf, subkey, type Wrapper } from './wrap.ts'

/** `check` only verifies the root key. */
const SERVICE_PURPOSES = ['check', 'api-key', 'audit'] as const

const RINGS = 1000
/** Rings are reloaded at this age (ms), even if the change counter is unchanged. */
const RING_AGE = 60_000
/** Minimum age (ms) at which an unknown key version reloads a ring. */
const RELOAD_AGE = 1_000

interface KeysDeps {
  readonly keys: Pick<KeyStore, 'keys' | 'changes' | 'add'>
  readonly clock: Clock
}

interface KeysOptions {
  readonly rootKey: Secret<Buffer>
  /** Create the service's keys if the store has none. */
  readonly create: boolean
  /** The row of a new root key that a key management service has wrapped. Stored with the first keys. */
  readonly row?: KeyRow | undefined
  /** Loads the root key from its source again. Called if the store uses an unknown root key. */
  readonly reload?: () => Promise<Secret<Buffer>>
}

/** Unwraps the service's keys. Creates them first if there are none and `create` is set; writes nothing else. */
const serviceKeys = async (
  { keys, clock }: KeysDeps,
  roots: RootKeyring,
  { create, row: wrappedRoot }: KeysOptions,
): Promise<ReadonlyMap<string, KeyObject>> => {
  let rows = await keys.keys('')
  if (rows.length === 0) {
    if (!create)
      throw new AppError(
        'gateway_timeout',
        'The store has no keys yet. Start the admin role first, with the same store and root key: it creates them.',
      )
    const now = clock.now()
    // Resolves with false if another process was first: then its keys are used.
    const fresh = SERVICE_PURPOSES.map((purpose) =>
      roots.now.current.fresh({ tenant_id: '', purpose, version: 1 }, now),
    )
    await keys.add(wrappedRoot === undefined ? fresh : [...fresh, wrappedRoot])
    rows = await keys.keys('')
  }
  await roots.renew()
  const unwrapped = new Map<string, KeyObject>()
  for (const purpose of SERVICE_PURPOSES) {
    const row = rows.find((candidate) => candidate.purpose === purpose)
    if (row === undefined)
      throw new AppError(
        'invalid',
        `The service's key "${purpose}" is missing in the store. Restore the store from a backup. Nothing was changed.`,
      )
    const key = roots.now.unwrap(row)
    if (key === undefined)
      throw new AppError(
        'invalid',
        purpose === 'check' && rootIdOf(row) !== undefined && !roots.now.knows(row)
          ? 'The root key does not match the store. Set SIDEVAULT_ROOT_KEY (or the key file of the data directory) to the original root key. Nothing was changed.'
          : `The service's key "${purpose}" was modified in the store. Restore the store from a backup. Nothing was changed.`,
      )
    unwrapped.set(purpose, createSecretKey(purpose === 'check' ? key : subkey(key, purpose)))
    key.fill(0)
  }
  return unwrapped
}

/** LRU cache of rings. Loads each tenant once at a time. Cleared when any process changes a key. */
const ringCache = ({ keys, clock }: KeysDeps, roots: RootKeyring) => {
  const rings = new LRUCache<string, { readonly ring: Ring; readonly at: number }>({ max: RINGS })
  const loading = new Map<string, Promise<Ring>>()
  let cachedAt: number | undefined

  const load = async (tenantId: string, changes: number): Promise<Ring> => {
    const at = clock.now()
    let rows = tenantId === '' ? [] : await keys.keys(tenantId)
    if (rows.some((row) => isKey(row) && !roots.now.knows(row))) {
      await roots.renew()
      // They may have been rewrapped since they were read.
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
        `The keys of tenant "${tenantId}" cannot be unwrapped. Ask the operator to check the store and the root key.`,
      )
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

/**
 * The keys of the service and of its tenants (docs/security-model.md, "Encryption"). Several processes may open a
 * store.
 *
 * Rejects and changes nothing: `invalid` when the root key does not match the store, or a key row is missing or
 * modified; `gateway_timeout` when the store has no keys and `create` is not set.
 */
export const openKeys = async (deps: KeysDeps, options: KeysOptions): Promise<Keys> => {
  const roots = createRootKeyring(deps, options)
  const service = await serviceKeys(deps, roots, options)
  const ring = ringCache(deps, roots)
  let rootsAt = await deps.keys.changes()
  /** The root key for new keys, renewed if another process has changed keys. */
  const current = async (): Promise<Wrapper> => {
    const changes = await deps.keys.changes()
    if (changes !== rootsAt) await roots.renew()
    rootsAt = changes
    return roots.now.current
  }
  const serviceRows = async (wanted: string): Promise<readonly KeyRow[]> =>
    (await deps.keys.keys('')).filter(({ purpose }) => purpose === wanted)
  const unwrapped = async (purpose: string): Promise<readonly ServiceKey[]> => {
    let rows = await serviceRows(purpose)
    if (rows.some((row) => !roots.now.knows(row))) {
      await roots.renew()
      // They may have been rewrapped since they were read.
      rows = await serviceRows(purpose)
    }
    return rows.map((row) => {
      const key = roots.now.unwrap(row)
      if (key === undefined)
        throw new AppError(
          'internal',
          `The service's key "${purpose}" cannot be unwrapped. Ask the operator to check the store and the root key.`,
        )
      return { version: row.version, key: new Secret(key), createdAt: row.created_at }
    })
  }
  return {
    health: async () => {
      await unwrapped('check')
    },
    serviceKeys: unwrapped,
    wrapServiceKey: async ({ purpose, version }, key, now) =>
      (await current()).wrap({ tenant_id: '', purpose, version }, key, now),
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
