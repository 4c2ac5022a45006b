import { listSegments } from '../audit/segments.ts'
import { AppError } from '../common/errors.ts'
import type { Config } from '../config.ts'
import type { Authenticator } from '../kernel/types.ts'
import { type DelegatedKey, delegationOfJournal, loadDelegatedKey } from '../keys/delegated-key.ts'
import { RootKeySourceError } from '../keys/root-key.ts'
import type { Keys } from '../keys/types.ts'
import { journalDirectory } from './replica.ts'

/**
 * The delegated key of a gateway for this tenant. Rejects with the remedy when it is another tenant's, and in a data
 * directory with journals of other processes, which this one could neither verify nor store.
 */
export const loadDelegation = async (config: Config, tenant: string): Promise<DelegatedKey> => {
  const delegated = await loadDelegatedKey(config.delegatedKeySource?.reveal() ?? '', process.env)
  const { name, tenantId } = delegated
  if (tenantId !== tenant)
    throw new RootKeySourceError(
      `The delegated key "${name}" is for tenant "${tenantId}", not for "${tenant}". Start with --tenant ${tenantId}, or set SIDEVAULT_DELEGATED_KEY to a key of that tenant.`,
    )
  for (const journal of listSegments(journalDirectory(config)).keys())
    if (delegationOfJournal(journal) !== name)
      throw new AppError(
        'invalid',
        `The data directory has the audit journal "${journal}" of another process. Set SIDEVAULT_DATA_DIR to a directory of this gateway's own.`,
      )
  return delegated
}

/** Rejects every call once the delegation is revoked. */
export const whileDelegated = (
  authenticator: Authenticator,
  keys: Pick<Keys, 'tenant'>,
  tenant: string,
): Authenticator => ({
  ...authenticator,
  authenticate: async (key, permission) => {
    await keys.tenant(tenant)
    return authenticator.authenticate(key, permission)
  },
})
