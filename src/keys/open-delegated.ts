import { createHmac, createSecretKey } from 'node:crypto'
import { AppError } from '../common/errors.ts'
import type { KeyRow } from '../store/keys/types.ts'
import { type DelegatedKey, delegatedPurpose, delegationWrapper, rowsForDelegation } from './delegated-key.ts'
import { type Ring, ringOf } from './ring.ts'
import { type RingDeps, ringCache } from './ring-cache.ts'
import { RootKeySourceError } from './root-key.ts'
import type { Keys } from './types.ts'

/**
 * The keys of one tenant, for a gateway with a delegated key (ADR 0148). Calls reject with `overloaded` once the
 * delegation is revoked, from the change counter on; those for other tenants with `tenant_not_found`. Rejects with
 * `invalid` when the store does not have this delegation.
 */
export const openDelegatedKeys = async (deps: RingDeps, delegated: DelegatedKey): Promise<Keys> => {
  const { tenantId: own, name } = delegated
  const wrapper = delegationWrapper(delegated.key.reveal())
  const unwrap = (row: KeyRow) => wrapper.unwrap({ ...row, purpose: delegatedPurpose(name, row.purpose) })
  const ownRows = async () => rowsForDelegation(await deps.keys.keys(own), name)

  const load = async (tenantId: string): Promise<Ring> => {
    if (tenantId !== own) throw new AppError('tenant_not_found', `There is no tenant "${tenantId}".`)
    const rows = await ownRows()
    if (rows.length === 0)
      throw new AppError('overloaded', `The delegation "${name}" of this gateway was revoked.`)
    const ring = ringOf(rows, { unwrap })
    if (ring === undefined)
      throw new AppError(
        'internal',
        `The keys of the delegation "${name}" cannot be unwrapped. Ask the operator to check the store.`,
      )
    return ring
  }

  const rows = await ownRows()
  const service = new Map(
    ['api-key', 'audit'].map((purpose) => {
      const row = rows.find((candidate) => candidate.purpose === purpose)
      const key = row && unwrap(row)
      if (key === undefined)
        throw new RootKeySourceError(
          `The store has no delegation "${name}" of tenant "${own}" for this delegated key: it was revoked, or is of another store. Run "sidevault keys delegate --tenant ${own} --to <name>", and set SIDEVAULT_DELEGATED_KEY to its key.`,
        )
      return [purpose, createSecretKey(key)]
    }),
  )
  const ring = ringCache(deps, load)
  const withoutRootKey = async () => {
    throw new AppError('forbidden', 'This gateway has a delegated key, which makes no keys.')
  }
  const mac: Keys['mac'] = (purpose, data) =>
    createHmac('sha256', service.get(purpose)!).update(data).digest('hex')
  return {
    health: async () => {
      await load(own)
    },
    tenant: (tenantId, opening = []) => ring(tenantId, opening),
    mac,
    journalMac: () => (data) => mac('audit', data),
    newTenantKeys: withoutRootKey,
    newDataKey: withoutRootKey,
    serviceKeys: withoutRootKey,
    wrapServiceKey: withoutRootKey,
    delegate: withoutRootKey,
  }
}
