import { newId } from '../common/ids.ts'
import type { Secret } from '../common/secret.ts'
import { macOfTenant } from '../kernel/services/tenants.ts'
import type { Keys } from '../keys/types.ts'
import type { Ports } from '../sdk/index.ts'
import type { Store } from '../store/store.ts'
import type { TenantRow } from '../store/tenants/types.ts'

/**
 * Creates a tenant with its keys and a management application, whose API key is `key`; only its keyed hash is stored.
 * Keys and application are created before the tenant, so an interrupted call can be repeated.
 */
export const createTenant = async (
  {
    store,
    keys,
    credentials,
  }: {
    readonly store: Pick<Store, 'tenants' | 'keys'>
    readonly keys: Keys
    readonly credentials: Pick<Ports['credentials'], 'install'>
  },
  tenant: {
    readonly id: string
    readonly name: string
    readonly key: Secret<string>
    readonly now: number
    /** Default: none. */
    readonly settings?: TenantRow['settings']
  },
): Promise<void> => {
  const { id, name, key, now, settings = {} } = tenant
  if ((await store.keys.keys(id)).length === 0) await store.keys.add(await keys.newTenantKeys(id, now))
  await credentials.install(id, keys.mac('api-key', key.reveal()))
  const row = {
    id,
    owner_id: newId(),
    name,
    settings,
    created_by: null,
    created_at: now,
    modified_by: null,
    modified_at: null,
  }
  await store.tenants.create({ ...row, mac: macOfTenant(await keys.tenant(id), row) }, [])
}
