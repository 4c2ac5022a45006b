import { AppError } from '../../common/errors.ts'
import type { Session } from '../session.ts'
import { insertKey, insertTenant } from '../tenants/statements.ts'
import type { KeyRow, TenantRow } from '../types.ts'

/** All or nothing: `conflict` when one of them exists already. */
export const addKeys = async (
  session: Session,
  { keys }: { readonly keys: readonly KeyRow[] },
): Promise<void> => {
  for (const key of keys)
    if ((await session.run(insertKey, key)) === 0)
      throw new AppError('conflict', 'A key of this purpose and version exists already. Read the keys again.')
}

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
