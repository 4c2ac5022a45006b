import { setTimeout } from 'node:timers/promises'
import type { Clock } from '../common/clock.ts'
import { isoTime } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import { delegatedKeyOf } from '../keys/delegated-key.ts'
import { CLOSED, REENCRYPTING } from '../keys/root-key-rows.ts'
import type { KeyRow } from '../store/keys/types.ts'
import { DELEGATIONS } from './delegations.ts'
import type { OperatedVault, Print } from './open-vault.ts'
import { type Reencrypted, reencryptTenant } from './reencrypt.ts'

/**
 * ms in which calls that started with the old key may still write; later writes are rejected
 * (store/keys/data-key-guard.ts).
 */
const LATE_WRITES_MS = 60 * 60_000
/** Pause after each write, as a multiple of its duration, for writes of the service. */
const PAUSE_FACTOR = 2
/** ms between lines of progress. */
const PROGRESS = 1_000

export interface RotateDeps {
  readonly vault: Pick<OperatedVault, 'store' | 'keys' | 'record'>
  readonly clock: Clock
  readonly print: Print
}

interface Versions {
  readonly newest: KeyRow
  readonly older: readonly KeyRow[]
  /** Present until all values are reencrypted, so that an interrupted rotation continues. */
  readonly marker: KeyRow | undefined
}

const versionsOf = async ({ vault }: RotateDeps, tenantId: string): Promise<Versions> => {
  const rows = await vault.store.keys.keys(tenantId)
  const data = rows.filter(({ purpose }) => purpose === 'data').sort((a, b) => b.version - a.version)
  const [newest, ...older] = data
  if (newest === undefined) throw new AppError('tenant_not_found', `Tenant "${tenantId}" does not exist.`)
  return { newest, older, marker: rows.find(({ purpose }) => purpose === REENCRYPTING) }
}

/** Creates a new version, unless a rotation is in progress. */
const begin = async (deps: RotateDeps, tenantId: string): Promise<Versions> => {
  const { store, keys, record } = deps.vault
  const before = await versionsOf(deps, tenantId)
  if (before.marker !== undefined) return before
  const version = before.newest.version + 1
  const now = deps.clock.now()
  await record(tenantId, 'tenant', tenantId, `Data key rotated to version ${version}`)
  const marker = {
    tenant_id: tenantId,
    purpose: REENCRYPTING,
    version,
    wrapped: Buffer.alloc(0),
    created_at: now,
  }
  // False: another command has added this version.
  await store.withLock(DELEGATIONS, async () =>
    store.keys.add([...(await keys.newDataKey(tenantId, version, now)), marker]),
  )
  return versionsOf(deps, tenantId)
}

const pass = async ({ vault, print }: RotateDeps, tenantId: string): Promise<Reencrypted> => {
  const total = await vault.store.sealed.size(tenantId)
  let reported = performance.now()
  return reencryptTenant(
    {
      sealed: vault.store.sealed,
      tenants: vault.store.tenants,
      ring: async (opening) => vault.keys.tenant(tenantId, opening),
      rest: (ms) => setTimeout(PAUSE_FACTOR * ms),
      onProgress: ({ seen, replaced }) => {
        if (performance.now() < reported + PROGRESS) return
        reported = performance.now()
        print(`        ${seen} of about ${total} rows read, ${replaced} values reencrypted`)
      },
      onBroken: (kind, id) => print(`BROKEN  ${kind} "${id}"`),
    },
    tenantId,
  )
}

const brokenSentence = (tenantId: string, broken: number) =>
  `${broken} values of tenant "${tenantId}" cannot be decrypted and were not changed. Restore them from a backup, or delete them; then retry.`

/**
 * Creates a new data key for a tenant and reencrypts all its values. The service may run: new values use the new key at
 * once, old ones open under theirs until they are reencrypted. A killed rotation continues when it is run again,
 * without another version. False when values cannot be decrypted. Fingerprints and search terms stay: they have a
 * separate key.
 */
export const rotateData = async (deps: RotateDeps, tenantId: string): Promise<boolean> => {
  const { newest, marker } = await begin(deps, tenantId)
  const { replaced, broken } = await pass(deps, tenantId)
  if (broken > 0) {
    deps.print(`BROKEN  ${brokenSentence(tenantId, broken)}`)
    return false
  }
  if (marker !== undefined) await deps.vault.store.keys.remove([marker])
  deps.print(`rotated ${tenantId}: data key version ${newest.version}, ${replaced} values reencrypted`)
  return true
}

/**
 * Destroys old versions of a tenant's data key, at the earliest an hour after the newest was created. First it closes
 * them, so that no process can write under them; then it reencrypts the remaining values; then it destroys them. False
 * when some must stay.
 */
export const destroyOldKeys = async (deps: RotateDeps, tenantId: string): Promise<boolean> => {
  const { vault, clock, print } = deps
  const { newest, older, marker } = await versionsOf(deps, tenantId)
  if (older.length === 0) {
    print(`ok      ${tenantId}: version ${newest.version} is the only one`)
    return true
  }
  const from = newest.created_at + LATE_WRITES_MS
  if (marker !== undefined || clock.now() < from) {
    print(
      marker === undefined
        ? `skipped ${tenantId}: running calls may still write under the old key. Retry after ${isoTime(from)}.`
        : `skipped ${tenantId}: its rotation is not complete. Run "sidevault keys rotate-data --tenant ${tenantId}" first.`,
    )
    return false
  }
  const last = Math.max(...older.map(({ version }) => version))
  await vault.store.keys.close(tenantId, last, clock.now())
  // No more values can be written under them, so one walk finds the rest.
  const { broken } = await pass(deps, tenantId)
  if (broken > 0) {
    print(`BROKEN  ${brokenSentence(tenantId, broken)}`)
    return false
  }
  const versions = older.map(({ version }) => version).join(', ')
  await vault.record(tenantId, 'tenant', tenantId, `Data key versions ${versions} destroyed`)
  await vault.store.withLock(DELEGATIONS, async () => {
    const others = (await vault.store.keys.keys(tenantId)).filter(
      (row) => row.version <= last && (row.purpose === CLOSED || delegatedKeyOf(row)?.purpose === 'data'),
    )
    await vault.store.keys.remove([...older, ...others])
  })
  print(`destroyed ${tenantId}: versions ${versions}; ${newest.version} is the only one`)
  return true
}
