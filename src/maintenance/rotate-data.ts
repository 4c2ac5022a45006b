import { setTimeout } from 'node:timers/promises'
import type { Clock } from '../common/clock.ts'
import { isoTime } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import { CLOSED, REENCRYPTING } from '../keys/root-key-rows.ts'
import type { KeyRow } from '../store/types.ts'
import type { OperatedVault, Print } from './open-vault.ts'
import { type Reencrypted, resealTenant } from './reencrypt.ts'

/** A call that began with the old key may write for as long (ms); what comes later is refused (store/keys/data-key-guard.ts). */
const STRAGGLERS = 60 * 60_000
/** The service's writes get this many times as long as each of ours took. */
const REST = 2
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
  /** There while values are being sealed anew: a rotation that was cut short goes on. */
  readonly marker: KeyRow | undefined
}

const versionsOf = async ({ vault }: RotateDeps, tenantId: string): Promise<Versions> => {
  const rows = await vault.store.keys.keys(tenantId)
  const data = rows.filter(({ purpose }) => purpose === 'data').sort((a, b) => b.version - a.version)
  const [newest, ...older] = data
  if (newest === undefined) throw new AppError('tenant_not_found', `There is no tenant "${tenantId}".`)
  return { newest, older, marker: rows.find(({ purpose }) => purpose === REENCRYPTING) }
}

/** The newest version, made unless a rotation is under way. */
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
  // False: another command was first; its version serves as well.
  await store.keys.add([await keys.newDataKey(tenantId, version, now), marker])
  return versionsOf(deps, tenantId)
}

const pass = async ({ vault, print }: RotateDeps, tenantId: string): Promise<Reencrypted> => {
  const total = await vault.store.sealed.size(tenantId)
  let reported = performance.now()
  return resealTenant(
    {
      sealed: vault.store.sealed,
      tenants: vault.store.tenants,
      ring: (opening) => vault.keys.tenant(tenantId, opening),
      rest: (ms) => setTimeout(REST * ms),
      onProgress: ({ seen, replaced }) => {
        if (performance.now() < reported + PROGRESS) return
        reported = performance.now()
        print(`        ${seen} of about ${total} rows seen, ${replaced} values sealed anew`)
      },
    },
    tenantId,
  )
}

const brokenSentence = (tenantId: string, broken: number) =>
  `${broken} values of tenant "${tenantId}" do not open and were left as they are`

/**
 * Gives a tenant a new data key and seals all its values under it. Calls go on meanwhile: new values are under the new
 * key at once, old ones open under theirs until their turn. Killed, it goes on when it is run again, without a further
 * version. False when values do not open. Fingerprints and search terms stay: their key is another one.
 */
export const rotateData = async (deps: RotateDeps, tenantId: string): Promise<boolean> => {
  const { newest, marker } = await begin(deps, tenantId)
  const { replaced, broken } = await pass(deps, tenantId)
  if (broken > 0) {
    deps.print(`BROKEN  ${brokenSentence(tenantId, broken)}`)
    return false
  }
  if (marker !== undefined) await deps.vault.store.keys.remove([marker])
  deps.print(`rotated ${tenantId}: data key version ${newest.version}, ${replaced} values sealed anew`)
  return true
}

/**
 * Removes the versions of a tenant's data key that nothing needs any more: no sooner than an hour after the newest was
 * made. They are closed first, so that nothing is written under them any more, by whatever process; then a walk brings what
 * is left under the newest, and they are destroyed. False when some must stay.
 */
export const retireData = async (deps: RotateDeps, tenantId: string): Promise<boolean> => {
  const { vault, clock, print } = deps
  const { newest, older, marker } = await versionsOf(deps, tenantId)
  if (older.length === 0) {
    print(`ok      ${tenantId}: version ${newest.version} is the only one`)
    return true
  }
  const from = newest.created_at + STRAGGLERS
  if (marker !== undefined || clock.now() < from) {
    print(
      marker === undefined
        ? `kept    ${tenantId}: calls that began under the old key may still write. Retire it from ${isoTime(from)} on.`
        : `kept    ${tenantId}: its rotation is not finished. Run "sidevault keys rotate-data --tenant ${tenantId}" first.`,
    )
    return false
  }
  const last = Math.max(...older.map(({ version }) => version))
  await vault.store.keys.close(tenantId, last, clock.now())
  // Nothing comes under them any more, so one walk finds all that is left.
  const { broken } = await pass(deps, tenantId)
  if (broken > 0) {
    print(`BROKEN  ${brokenSentence(tenantId, broken)}`)
    return false
  }
  const versions = older.map(({ version }) => version).join(', ')
  await vault.record(tenantId, 'tenant', tenantId, `Data key versions ${versions} destroyed`)
  const closed = (await vault.store.keys.keys(tenantId)).filter(
    ({ purpose, version }) => purpose === CLOSED && version <= last,
  )
  await vault.store.keys.remove([...older, ...closed])
  print(`retired ${tenantId}: versions ${versions}; ${newest.version} is the only one`)
  return true
}
