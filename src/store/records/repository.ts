import { buffer, own } from '../bytes.ts'
import type { ChangeCounters } from '../change-counters.ts'
import type { Session } from '../session.ts'
import type { Writer } from '../writer.ts'
import { commitRecords } from './commit.ts'
import { findRecords } from './find.ts'
import {
  boundHosts,
  newestRecords,
  originRange,
  recordById,
  recordByLookup,
  recordByOrigin,
  type StoredRecord,
} from './statements.ts'
import type { RecordRow, RecordStore } from './types.ts'

const toRecordRow = ({ seq, id, version, body, name, expires_at, mac }: StoredRecord): RecordRow => ({
  seq,
  id,
  version,
  body,
  name,
  expires_at,
  mac: mac === null ? null : buffer(mac),
})

export const createRecordStore = ({
  session,
  writer,
  changes,
}: {
  readonly session: Session
  readonly writer: Writer
  readonly changes: ChangeCounters
}): RecordStore => ({
  get: async (collection, tenantId, id) => {
    const record = await session.get(recordById, { collection, tenant_id: tenantId, id })
    return record && toRecordRow(record)
  },

  find: async (collection, tenantId, query) => {
    const { rows, total } = await findRecords(session, collection, tenantId, query)
    return { rows: rows.map(toRecordRow), total }
  },

  lookup: async (collection, member, value) => {
    const record = await session.get(recordByLookup, { collection, member, value })
    return record && { ...toRecordRow(record), tenantId: record.tenant_id }
  },

  commit: async (mutations, now) => {
    const owned = mutations.map(({ mac, ...rest }) => (mac ? { ...rest, mac: own(mac) } : rest))
    if (owned.length > 0) await writer.write(commitRecords, { mutations: owned, now })
  },

  newest: async (collection, limit) =>
    (await session.all(newestRecords, { collection, limit })).map((record) => ({
      ...toRecordRow(record),
      tenantId: record.tenant_id,
    })),

  hosts: async (limit) =>
    (await session.all(boundHosts, { limit })).map(({ tenant_id, value }) => ({
      tenantId: tenant_id,
      host: value,
    })),

  allowsOrigin: async (origin) => (await session.get(recordByOrigin, originRange(origin))) !== undefined,

  changes: (collections) => changes.sum(collections),
})
