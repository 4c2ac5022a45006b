import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import type { Clock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import { Secret } from '../common/secret.ts'
import type { KeyRow, KeyStore } from '../store/keys/types.ts'
import {
  auditUse,
  delegatedKeyText,
  delegatedPurpose,
  delegationNameOf,
  delegationOfJournal,
  delegationPurpose,
  delegationWrapper,
} from './delegated-key.ts'
import { isKey, type Ring, ringOf } from './ring.ts'
import { ringCache } from './ring-cache.ts'
import { createRootKeyring, type RootKeyring } from './root-keyring.ts'
import type { Keys, ServiceKey } from './types.ts'
import { KEY, rootIdOf, subkey, type Wrapper } from './wrap.ts'

/** `check` only verifies the root key. */
const SERVICE_PURPOSES = ['check', 'api-key', 'audit'] as const

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

const cannotUnwrap = (tenantId: string): AppError =>
  new AppError(
    'internal',
    `The keys of tenant "${tenantId}" cannot be unwrapped. Ask the operator to check the store and the root key.`,
  )

/** The rows of a tenant. Its keys are wrapped by known root keys, unless they were modified. */
const rowsOf = async (
  { keys }: KeysDeps,
  roots: RootKeyring,
  tenantId: string,
): Promise<readonly KeyRow[]> => {
  const rows = tenantId === '' ? [] : await keys.keys(tenantId)
  if (rows.every((row) => !isKey(row) || roots.now.knows(row))) return rows
  await roots.renew()
  // They may have been rewrapped since they were read.
  return keys.keys(tenantId)
}

const ringOfTenant = async (deps: KeysDeps, roots: RootKeyring, tenantId: string): Promise<Ring> => {
  const rows = await rowsOf(deps, roots, tenantId)
  if (rows.length === 0) throw new AppError('tenant_not_found', `There is no tenant "${tenantId}".`)
  const ring = ringOf(rows, roots.now)
  if (ring === undefined) throw cannotUnwrap(tenantId)
  return ring
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
  const ring = ringCache(deps, (tenantId) => ringOfTenant(deps, roots, tenantId))
  let rootsAt = await deps.keys.changes()
  /** The root key for new keys, renewed if another process has changed keys. */
  const current = async (): Promise<Wrapper> => {
    const changes = await deps.keys.changes()
    if (changes !== rootsAt) await roots.renew()
    rootsAt = changes
    return roots.now.current
  }
  const auditKeyOf = (name: string): Buffer => subkey(service.get('audit')!.export(), auditUse(name))
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
    newDataKey: async (tenant_id, version, now) => {
      const wrapper = await current()
      const delegations = (await rowsOf(deps, roots, tenant_id)).flatMap((row) => {
        const name = delegationNameOf(row)
        if (name === undefined) return []
        const key = roots.now.unwrap(row)
        if (key === undefined) throw cannotUnwrap(tenant_id)
        return [{ name, to: delegationWrapper(key) }]
      })
      const key = randomBytes(KEY)
      return [
        wrapper.wrap({ tenant_id, purpose: 'data', version }, key, now),
        ...delegations.map(({ name, to }) =>
          to.wrap({ tenant_id, purpose: delegatedPurpose(name, 'data'), version }, key, now),
        ),
      ]
    },
    delegate: async (tenantId, name, now) => {
      const wrapper = await current()
      const rows = (await rowsOf(deps, roots, tenantId)).filter(isKey)
      if (rows.length === 0) throw new AppError('tenant_not_found', `There is no tenant "${tenantId}".`)
      const key = randomBytes(KEY)
      const to = delegationWrapper(key)
      const wrap = (purpose: string, version: number, secret: Buffer) =>
        to.wrap({ tenant_id: tenantId, purpose: delegatedPurpose(name, purpose), version }, secret, now)
      const ofTenant = rows.map((row) => {
        const secret = roots.now.unwrap(row)
        if (secret === undefined) throw cannotUnwrap(tenantId)
        return wrap(row.purpose, row.version, secret)
      })
      return {
        rows: [
          wrapper.wrap({ tenant_id: tenantId, purpose: delegationPurpose(name), version: 1 }, key, now),
          ...ofTenant,
          wrap('api-key', 1, service.get('api-key')!.export()),
          wrap('audit', 1, auditKeyOf(name)),
        ],
        text: delegatedKeyText({ tenantId, name, key: new Secret(key) }),
      }
    },
    mac: (purpose, data) => createHmac('sha256', service.get(purpose)!).update(data).digest('hex'),
    journalMac: (journal) => {
      const name = delegationOfJournal(journal)
      const key = name === undefined ? service.get('audit')! : createSecretKey(auditKeyOf(name))
      return (data) => createHmac('sha256', key).update(data).digest('hex')
    },
  }
}
