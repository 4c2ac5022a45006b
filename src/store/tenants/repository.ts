import { buffer, own } from '../bytes.ts'
import type { ChangeCounters } from '../change-counters.ts'
import type { Session } from '../session.ts'
import type { Writer } from '../writer.ts'
import { createTenant, deleteTenant, updateTenant } from './commands.ts'
import { toTenantRow } from './row.ts'
import { allTenants, anyTenant, egressOnlyTenant, TENANT_CHANGES, tenantById } from './statements.ts'
import type { TenantStore } from './types.ts'

interface Deps {
  readonly session: Session
  readonly writer: Writer
  readonly changes: ChangeCounters
}

const TENANT_KINDS = Object.freeze([TENANT_CHANGES])

export const createTenantStore = ({ session, writer, changes }: Deps): TenantStore => ({
  get: async (id) => {
    const tenant = await session.get(tenantById, { tenant_id: id })
    if (tenant === undefined) return undefined
    const { mac, ...row } = tenant
    return { ...toTenantRow(row), mac: mac === null ? null : buffer(mac) }
  },
  list: async () => (await session.all(allTenants, {})).map(toTenantRow),
  hasEgressOnly: async (id) => (await session.get(egressOnlyTenant, { tenant_id: id })) !== undefined,
  changes: () => changes.sum(TENANT_KINDS),
  isNew: async () => (await session.get(anyTenant, {})) === undefined,
  update: (tenant, { from, to }) =>
    writer.write(updateTenant, { tenant, mac: { from: own(from), to: own(to) } }),
  delete: (id, now, mac) => writer.write(deleteTenant, { id, now, mac: mac && own(mac) }),
  create: ({ mac, ...tenant }, keys) =>
    writer.write(createTenant, {
      tenant,
      keys: keys.map((key) => ({ ...key, wrapped: own(key.wrapped) })),
      ...(mac ? { mac: own(mac) } : {}),
    }),
})
