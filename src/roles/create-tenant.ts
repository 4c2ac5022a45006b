import { newId } from '../common/ids.ts'
import type { Secret } from '../common/secret.ts'
import type { Keys } from '../keys/types.ts'
import type { Ports } from '../sdk/index.ts'
import type { Store } from '../store/types.ts'

/**
 * A tenant with its keys and a management application that `key` belongs to; of the key itself only its keyed hash is
 * kept. The application comes before its tenant, so that what was cut short between the two is simply done again.
 */
export const createTenant = async (
  {
    store,
    keys,
    credentials,
  }: {
    readonly store: Pick<Store, 'tenants'>
    readonly keys: Keys
    readonly credentials: Pick<Ports['credentials'], 'install'>
  },
  tenant: {
    readonly id: string
    readonly name: string
    readonly key: Secret<string>
    readonly now: number
  },
): Promise<void> => {
  const { id, name, key, now } = tenant
  await credentials.install(id, keys.mac('api-key', key.reveal()))
  await store.tenants.create(
    {
      id,
      owner_id: newId(),
      name,
      settings: {},
      created_by: null,
      created_at: now,
      modified_by: null,
      modified_at: null,
    },
    await keys.newTenantKeys(id, now),
  )
}
