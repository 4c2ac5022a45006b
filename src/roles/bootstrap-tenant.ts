import { AppError } from '../common/errors.ts'
import { newId, newKey } from '../common/ids.ts'
import type { Log } from '../common/log.ts'
import { Secret } from '../common/secret.ts'
import { createTenant } from './create-tenant.ts'
import type { Runtime } from './runtime.ts'

/**
 * Creates the first tenant and its management application in a store that never had one, otherwise resolves with
 * undefined. `key` is set if it was generated; only its keyed hash is stored.
 */
export const bootstrapTenant = async (
  { store, keys, kernel }: Pick<Runtime, 'store' | 'keys' | 'kernel'>,
  options: { readonly bootstrapKey: Secret<string> | undefined; readonly now: number; readonly log: Log },
): Promise<{ readonly key?: string } | undefined> => {
  const { bootstrapKey, now, log } = options
  const { credentials } = kernel.registry.ports
  if (credentials === undefined)
    throw new AppError(
      'invalid',
      'No plugin authenticates API keys. Add the plugin "applications" (or *) to SIDEVAULT_PLUGINS.',
    )
  const hash = (key: Secret<string>) => keys.mac('api-key', key.reveal())
  if (!(await store.tenants.isNew())) {
    if (bootstrapKey !== undefined && (await credentials.authenticate(hash(bootstrapKey))) === undefined)
      log.warn('SIDEVAULT_BOOTSTRAP_KEY is not a key of this store; it is used on the first start only')
    return undefined
  }
  const key = bootstrapKey ?? new Secret(newKey())
  const tenantId = (await credentials.authenticate(hash(key)))?.caller.tenantId ?? newId()
  await createTenant({ store, keys, credentials }, { id: tenantId, name: 'First tenant', key, now })
  return bootstrapKey === undefined ? { key: key.reveal() } : {}
}
