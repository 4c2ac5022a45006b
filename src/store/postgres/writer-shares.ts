import { createKeyedSemaphore, type RunExclusive } from '../../common/keyed-mutex.ts'
import type { CommandName, Commands } from '../write-commands.ts'

type TenantOf = { readonly [N in CommandName]?: (args: Commands[N]['args']) => string | undefined }

/** Commands of callers. The others are the service's own. */
const TENANT: TenantOf = {
  'tokens.create': ({ tokens }) => tokens[0]?.tenant_id,
  'tokens.update': ({ update }) => update.row.tenant_id,
  'tokens.delete': ({ tenantId }) => tenantId,
  'tokens.associate': ({ association }) => association.tenantId,
  'tokens.dissociate': ({ association }) => association.tenantId,
  'records.commit': ({ mutations }) => mutations[0]?.tenantId,
  'tenants.update': ({ tenant }) => tenant.id,
  'idempotency.begin': ({ record }) => record.tenantId,
  'idempotency.finish': ({ record }) => record.tenantId,
  'idempotency.abandon': ({ record }) => record.tenantId,
}

/** Tenant for which a command runs; undefined for the service. */
export const tenantOf = (command: CommandName, args: unknown): string | undefined =>
  (TENANT[command] as ((args: unknown) => string | undefined) | undefined)?.(args)

/** Connections of `size` that one tenant may write on: half of them, at least one. */
export const shareOf = (size: number): number => Math.max(1, Math.floor(size / 2))

/** Runs writes of a tenant within its share. All tenants leave one connection to the service. */
export const createWriterShares = (size: number): RunExclusive => {
  const ofTenant = createKeyedSemaphore(shareOf(size))
  const ofAll = createKeyedSemaphore(Math.max(1, size - 1))
  return (tenantId, work) => ofTenant(tenantId, () => ofAll('', work))
}
