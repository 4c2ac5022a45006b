import { AppError } from '../../common/errors.ts'
import type { ChangeCounters } from '../change-counters.ts'
import type { Session } from '../session.ts'
import { buffer, own } from '../tokens/token-row.ts'
import type { KeyRow, KeyStore, TenantStore } from '../types.ts'
import type { Writer } from '../writer.ts'
import { toTenantRow } from './row.ts'
import {
  allTenants,
  anyTenant,
  KEY_CHANGES,
  keysAfter,
  keysOfTenant,
  TENANT_CHANGES,
  tenantById,
} from './statements.ts'

interface Deps {
  readonly session: Session
  readonly writer: Writer
  readonly changes: ChangeCounters
}

const KEY_KINDS = Object.freeze([KEY_CHANGES])
const TENANT_KINDS = Object.freeze([TENANT_CHANGES])

const ownKey = (key: KeyRow): KeyRow => ({ ...key, wrapped: Uint8Array.from(key.wrapped) as Buffer })

export const createTenantStore = ({ session, writer, changes }: Deps): TenantStore => ({
  get: async (id) => {
    const found = await session.get(tenantById, { tenant_id: id })
    if (found === undefined) return undefined
    const { mac, ...row } = found
    return { ...toTenantRow(row), mac: mac === null ? null : buffer(mac) }
  },
  list: async () => (await session.all(allTenants, {})).map(toTenantRow),
  changes: () => changes.sum(TENANT_KINDS),
  isNew: async () => (await session.get(anyTenant, {})) === undefined,
  update: (tenant, { from, to }) =>
    writer.write('tenants.update', { tenant, mac: { from: own(from), to: own(to) } }),
  delete: (id, now) => writer.write('tenants.delete', { id, now }),
  create: ({ mac, ...tenant }, keys) =>
    writer.write('tenants.create', { tenant, keys: keys.map(ownKey), ...(mac ? { mac: own(mac) } : {}) }),
})

export const createKeyStore = ({ session, writer, changes }: Deps): KeyStore => ({
  keys: async (tenantId) => {
    const rows = await session.all(keysOfTenant, { tenant_id: tenantId })
    return rows.map((row) => ({ ...row, wrapped: buffer(row.wrapped) }))
  },
  changes: () => changes.sum(KEY_KINDS),
  add: async (keys) => {
    try {
      await writer.write('keys.add', { keys: keys.map(ownKey) })
      return true
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code === 'conflict') return false
      throw thrown
    }
  },
  page: async (after, limit) =>
    (await session.all(keysAfter, { ...after, limit })).map((row) => ({
      ...row,
      wrapped: buffer(row.wrapped),
    })),
  rewrap: (changes) =>
    writer.write('keys.rewrap', {
      changes: changes.map((change) => ({ ...change, from: own(change.from), to: own(change.to) })),
    }),
  close: (tenantId, version, now) => writer.write('keys.close', { tenantId, version, now }),
  remove: (keys) => writer.write('keys.remove', { keys }),
  endRootChange: (end) => writer.write('keys.end-root-change', { end: { ...end, root: own(end.root) } }),
})
