import { preconditionFailed } from '../../common/conditional-call.ts'
import { AppError } from '../../common/errors.ts'
import type { Replacement } from '../bytes.ts'
import { allKinds, bumpChange } from '../changes.ts'
import { defineCommand } from '../command.ts'
import { addKeys } from '../keys/commands.ts'
import { requireKeys } from '../keys/data-key-guard.ts'
import { deleteTenantKeys, KEY_CHANGES } from '../keys/statements.ts'
import type { KeyRow } from '../keys/types.ts'
import type { Session } from '../session.ts'
import {
  anyRecordOf,
  deleteTenantRow,
  insertDeletedTenant,
  insertTenant,
  insertTenantMac,
  replaceTenantMac,
  setEgressOnly,
  TENANT_CHANGES,
  updateTenant as updateTenantRow,
} from './statements.ts'
import type { TenantRow } from './types.ts'

/** Atomic: a tenant never exists without its keys. */
export const createTenant = defineCommand({
  name: 'tenants.create',
  run: async (
    session: Session,
    {
      tenant,
      keys,
      mac,
    }: { readonly tenant: TenantRow; readonly keys: readonly KeyRow[]; readonly mac?: Buffer },
  ): Promise<void> => {
    const values = { ...tenant, settings: JSON.stringify(tenant.settings) }
    if ((await session.run(insertTenant, values)) === 0)
      throw new AppError('conflict', `A tenant with the id "${tenant.id}" already exists.`)
    await addKeys.run(session, { keys })
    const { id: tenant_id } = tenant
    if (mac !== undefined) await session.run(insertTenantMac, { tenant_id, mac })
  },
  tenantOf: () => undefined,
  scope: 'service',
  isEffect: true,
  isMaintenance: false,
  movesCounters: true,
  destroysKeys: false,
})

/** False when it has changed since it was read. */
export const updateTenant = defineCommand({
  name: 'tenants.update',
  run: async (
    session: Session,
    { tenant, mac }: { readonly tenant: TenantRow; readonly mac: Replacement },
  ): Promise<boolean> => {
    await requireKeys(session, tenant.id, [mac.to])
    if ((await session.run(replaceTenantMac, { tenant_id: tenant.id, ...mac })) === 0) return false
    await session.run(updateTenantRow, { ...tenant, settings: JSON.stringify(tenant.settings) })
    await session.run(bumpChange, { kind: TENANT_CHANGES })
    return true
  },
  tenantOf: ({ tenant }) => tenant.id,
  scope: 'service',
  isEffect: true,
  isMaintenance: false,
  movesCounters: true,
  destroysKeys: false,
})

/** Notes that the tenant gets a token that is `egress_only`. False when that was known. */
export const markEgressOnly = defineCommand({
  name: 'tenants.markEgressOnly',
  run: async (session: Session, { tenantId }: { readonly tenantId: string }): Promise<boolean> => {
    if ((await session.run(setEgressOnly, { tenant_id: tenantId })) === 0) return false
    await session.run(bumpChange, { kind: TENANT_CHANGES })
    return true
  },
  tenantOf: ({ tenantId }) => tenantId,
  scope: 'tenant',
  isEffect: false,
  isMaintenance: false,
  movesCounters: true,
  destroysKeys: false,
})

/**
 * Deletes the keys at once, so that nothing can be opened, and hides the records, so that no caller is authorized
 * (`ofLiveTenant`). The purge removes the rest: a transaction over all rows would block all other tenants. `mac`:
 * rejects with `precondition_failed` when the tenant has another one now.
 */
export const deleteTenant = defineCommand({
  name: 'tenants.delete',
  run: async (
    session: Session,
    { id, now, mac }: { readonly id: string; readonly now: number; readonly mac?: Buffer | undefined },
  ): Promise<boolean> => {
    // Locks the tenant against changes, too.
    const isChanged =
      mac !== undefined && (await session.run(replaceTenantMac, { tenant_id: id, from: mac, to: mac })) === 0
    if ((await session.run(deleteTenantRow, { id })) === 0) return false
    if (isChanged) throw preconditionFailed()
    await session.run(deleteTenantKeys, { tenant_id: id })
    await session.run(bumpChange, { kind: KEY_CHANGES })
    await session.run(bumpChange, { kind: TENANT_CHANGES })
    await session.run(insertDeletedTenant, { id, deleted_at: now })
    for (const { kind } of await session.all(allKinds, {}))
      if (await session.get(anyRecordOf, { collection: kind, tenant_id: id }))
        await session.run(bumpChange, { kind })
    return true
  },
  tenantOf: () => undefined,
  scope: 'service',
  isEffect: true,
  isMaintenance: false,
  movesCounters: true,
  destroysKeys: true,
})
