import type { Clock } from '../../common/clock.ts'
import { checkVersion, isConditional, noteVersion, noteWritten } from '../../common/conditional-call.ts'
import { AppError, concurrentChange } from '../../common/errors.ts'
import { whenReady } from '../../common/eventual.ts'
import { retryOnConflict } from '../../common/retry-on-conflict.ts'
import type { Keys, TenantKeys } from '../../keys/types.ts'
import type { GuardMode, Tenant, TenantRecords, Tenants } from '../../sdk/index.ts'
import type { StoredTenant, TenantRow, TenantStore } from '../../store/tenants/types.ts'
import { deepFreeze } from '../freeze.ts'
import type { TenantGuards } from '../types.ts'
import { createCachedLookup } from './cached-lookup.ts'
import { type OnRejected, rejectRecord } from './seal-records.ts'

/** Cached tenants; the least recently used one is dropped first. */
const RETAINED = 1_000

interface TenantsDeps {
  readonly store: TenantStore
  readonly keys: Pick<Keys, 'tenant'>
  readonly onRejected: OnRejected
}

const macParts = ({ id, settings, ...row }: TenantRow): readonly string[] => [
  'tenant',
  id,
  JSON.stringify([row.owner_id, row.name, settings, row.created_by, row.created_at]),
  JSON.stringify([row.modified_by, row.modified_at]),
]

/** The MAC of a tenant's row, whose settings decide about permissions. */
export const macOfTenant = (ring: TenantKeys, row: TenantRow): Buffer => ring.mac(...macParts(row))

/** True when the service wrote this row last. */
export const isTenantValid = (ring: TenantKeys, { mac, ...row }: StoredTenant): boolean =>
  mac !== null && ring.verifies(mac, ...macParts(row))

/** The version of a tenant: each change has a time of its own. */
const versionOf = ({ modified_at }: Pick<Tenant | TenantRow, 'modified_at'>): string =>
  (modified_at ?? 0).toString(36)

/** A tenant for plugins and the vault: unset members are absent. */
const shown = ({ created_by, modified_by, modified_at, ...tenant }: TenantRow): Tenant => ({
  ...tenant,
  ...(created_by === null ? {} : { created_by }),
  ...(modified_by === null ? {} : { modified_by }),
  ...(modified_at === null ? {} : { modified_at }),
})

const opened = async (
  { store, keys, onRejected }: TenantsDeps,
  id: string,
): Promise<{ readonly row: TenantRow; readonly mac: Buffer; readonly ring: TenantKeys } | undefined> => {
  const stored = await store.get(id)
  if (stored === undefined) return undefined
  const { mac, ...row } = stored
  const ring = await keys.tenant(id, mac === null ? [] : [mac])
  if (mac === null || !isTenantValid(ring, stored))
    return rejectRecord({ collection: 'tenants', tenantId: id, id }, onRejected)
  return { row, mac, ring }
}

/** What is known of tenants, cached while none of them changes. */
const createTenantLookup = <T extends object>(
  { store }: TenantsDeps,
  read: (id: string) => Promise<T | undefined>,
) =>
  createCachedLookup(
    () => store,
    (_, id) => read(id),
    { changes: () => store.changes(), max: RETAINED },
  )

/** Tenants, cached: each create reads its tenant's settings. */
export const createTenants = (deps: TenantsDeps): Tenants => {
  const lookup = createTenantLookup(deps, async (id) => {
    const current = await opened(deps, id)
    return current && deepFreeze(shown(current.row))
  })
  return {
    get: async (id) => {
      const tenant = await lookup.find(id)
      if (tenant !== undefined) noteVersion(id, versionOf(tenant))
      return tenant
    },
  }
}

/** Cached as tenants are: each proxied call reads its tenant's. */
export const createTenantGuards = (deps: TenantsDeps): TenantGuards => {
  const lookup = createTenantLookup(deps, async (id) => {
    const [current, hasEgressOnly] = await Promise.all([opened(deps, id), deps.store.hasEgressOnly(id)])
    return current && { mode: current.row.settings.response_guard as GuardMode | undefined, hasEgressOnly }
  })
  return {
    of: (tenantId) =>
      whenReady(lookup.find(tenantId), (guard) => {
        // Without the tenant's settings a rule of the tenant would be skipped.
        if (guard === undefined) throw new AppError('tenant_not_found', 'The tenant of this key was deleted.')
        return guard
      }),
  }
}

/** Tenants with the methods of their own plugin. */
export const createTenantRecords = (deps: TenantsDeps & { readonly clock: Clock }): TenantRecords => ({
  ...createTenants(deps),
  async *all() {
    for (const { id } of await deps.store.list()) {
      // Since the list was read, it may have been deleted.
      const current = await opened(deps, id)
      if (current !== undefined) yield deepFreeze(shown(current.row))
    }
  },
  update: ({ id, settings, ...change }) =>
    retryOnConflict(async () => {
      const current = await opened(deps, id)
      if (current === undefined) return undefined
      const applied = Object.entries(settings ?? current.row.settings).filter(
        (entry): entry is [string, string] => entry[1] !== undefined,
      )
      checkVersion(id, versionOf(current.row))
      const row = {
        ...current.row,
        ...change,
        modified_at: Math.max(change.modified_at, (current.row.modified_at ?? 0) + 1),
        settings: Object.fromEntries(applied),
      }
      if (await deps.store.update(row, { from: current.mac, to: macOfTenant(current.ring, row) })) {
        noteWritten(id, versionOf(row))
        return shown(row)
      }
      throw concurrentChange('The tenant was changed concurrently. Retry.')
    }),
  delete: async (id) => {
    const current = isConditional(id) ? await opened(deps, id) : undefined
    if (current !== undefined) checkVersion(id, versionOf(current.row))
    return deps.store.delete(id, deps.clock.now(), current?.mac)
  },
})
