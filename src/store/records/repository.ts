import type { Session, Writer } from '../session.ts'
import type { RecordRow, RecordStore } from '../types.ts'
import { findRecords } from './find.ts'
import { newestRecords, recordById, recordByLookup, type StoredRecord, sumOfChanges } from './statements.ts'

const toRecordRow = ({ id, version, body }: StoredRecord): RecordRow => ({
  id,
  version,
  record: JSON.parse(body) as unknown,
})

export const createRecordStore = ({
  session,
  writer,
}: {
  readonly session: Session
  readonly writer: Writer
}): RecordStore => {
  // Callers ask with the same array on every request.
  const lists = new WeakMap<readonly string[], unknown>()
  const listOf = (collections: readonly string[]): unknown => {
    const known = lists.get(collections)
    if (known !== undefined) return known
    const list = session.dialect.list(collections)
    if (Object.isFrozen(collections)) lists.set(collections, list)
    return list
  }

  return {
    get: async (collection, tenantId, id) => {
      const found = await session.get(recordById, { collection, tenant_id: tenantId, id })
      return found && toRecordRow(found)
    },

    find: async (collection, tenantId, query) => {
      const { rows, total } = await findRecords(session, collection, tenantId, query)
      return { rows: rows.map(toRecordRow), total }
    },

    lookup: async (collection, member, value) => {
      const found = await session.get(recordByLookup, { collection, member, value })
      return found && { ...toRecordRow(found), tenantId: found.tenant_id }
    },

    newest: async (collection, limit) =>
      (await session.all(newestRecords, { collection, limit })).map((found) => ({
        ...toRecordRow(found),
        tenantId: found.tenant_id,
      })),

    commit: async (mutations, now) => {
      if (mutations.length > 0) await writer.write('records.commit', { mutations, now })
    },

    changes: async (collections) => {
      if (collections.length === 0) return 0
      return Number((await session.get(sumOfChanges, { kinds: listOf(collections) }))?.total ?? 0)
    },
  }
}
