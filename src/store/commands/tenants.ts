import { AppError } from '../../common/errors.ts'
import { bumpChange } from '../records/statements.ts'
import type { Session } from '../session.ts'
import { toTenantRow } from '../tenants/row.ts'
import {
  allKinds,
  deleteRecordsOf,
  deleteTenantKeys,
  deleteTenantRow,
  insertDeletedTenant,
  insertTenant,
  KEY_CHANGES,
  TENANT_CHANGES,
  updateTenant as updateTenantRow,
} from '../tenants/statements.ts'
import type { KeyRow, TenantChange, TenantRow } from '../types.ts'
import { addKeys } from './keys.ts'

/** All or nothing: a tenant never exists without its keys. */
export const createTenant = async (
  session: Session,
  { tenant, keys }: { readonly tenant: TenantRow; readonly keys: readonly KeyRow[] },
): Promise<void> => {
  const values = { ...tenant, settings: JSON.stringify(tenant.settings) }
  if ((await session.run(insertTenant, values)) === 0)
    throw new AppError('conflict', `A tenant with the id "${tenant.id}" exists already.`)
  await addKeys(session, { keys })
}

/** Undefined when there is no such tenant. */
export const updateTenant = async (
  session: Session,
  { change }: { readonly change: TenantChange },
): Promise<TenantRow | undefined> => {
  const settings = change.settings && JSON.stringify(change.settings)
  const updated = await session.get(updateTenantRow, { ...change, settings })
  if (updated === undefined) return undefined
  await session.run(bumpChange, { kind: TENANT_CHANGES })
  return toTenantRow(updated)
}

/** Keys and records go at once, so that nothing opens and nobody gets in; the purge takes the rest. */
export const deleteTenant = async (
  session: Session,
  { id, now }: { readonly id: string; readonly now: number },
): Promise<boolean> => {
  if ((await session.run(deleteTenantRow, { id })) === 0) return false
  await session.run(deleteTenantKeys, { tenant_id: id })
  await session.run(bumpChange, { kind: KEY_CHANGES })
  await session.run(bumpChange, { kind: TENANT_CHANGES })
  await session.run(insertDeletedTenant, { id, deleted_at: now })
  for (const { kind } of await session.all(allKinds, {}))
    if ((await session.run(deleteRecordsOf, { collection: kind, tenant_id: id })) > 0)
      await session.run(bumpChange, { kind })
  return true
}
