import type { Clock } from '../../common/clock.ts'
import { checkVersion, noteVersion } from '../../common/conditional-call.ts'
import { readCursor, writeCursor } from '../../common/cursor.ts'
import { eachInTurn } from '../../common/event-loop.ts'
import { createKeyedMutex } from '../../common/keyed-mutex.ts'
import { textMember } from '../../common/record-members.ts'
import { isConflict, retryOnConflict } from '../../common/retry-on-conflict.ts'
import { compileValidator } from '../../common/validate.ts'
import type { Keys } from '../../keys/types.ts'
import type { Collection, Mutation, Records } from '../../sdk/index.ts'
import type { RecordRow, RecordStore } from '../../store/records/types.ts'
import { commitConditionally } from './commit-conditionally.ts'
import { type OnRejected, openRecord, rejectRecord, sealMutation } from './seal-records.ts'

interface RecordsDeps {
  readonly store: RecordStore
  readonly keys: Pick<Keys, 'tenant'>
  readonly clock: Clock
  readonly onRejected: OnRejected
}

/** Access to the records of one collection; only records that are valid by its schema are written. */
export const createRecords = <T extends { readonly id: string }>(
  { store, keys, clock, onRejected }: RecordsDeps,
  collection: Collection,
): Records<T> => {
  const runExclusive = createKeyedMutex()
  const { name } = collection
  const validate = compileValidator(collection.schema)

  const checked = (record: T): T => {
    const copy = structuredClone(record)
    const issue = validate(copy)
    if (issue)
      throw new Error(
        `a record of "${name}" does not satisfy its schema at ${Object.keys(issue.errors ?? {}).join(', ')}`,
      )
    return copy
  }

  const commit = (mutation: Mutation) =>
    commitConditionally(store, [mutation], async ([bound = mutation]) =>
      store.commit([await sealMutation(keys, collection, bound)], clock.now()),
    )

  /** `matched`: members by which the row was found, each with values of which the record must have one. */
  const opened = async (
    tenantId: string,
    row: RecordRow,
    matched: Readonly<Record<string, string | readonly string[]>> = {},
  ) => {
    const record = (await openRecord(keys, collection, tenantId, row, onRejected)) as T
    for (const [member, values] of Object.entries(matched)) {
      const value = textMember(record, member)
      if (value === undefined || ![values].flat().includes(value))
        rejectRecord({ collection: name, tenantId, id: row.id }, onRejected)
    }
    return record
  }

  const records: Records<T> = {
    get: async (tenantId, id) => {
      const row = await store.get(name, tenantId, id)
      if (row === undefined) return undefined
      noteVersion(id, String(row.version))
      return opened(tenantId, row)
    },

    read: async (tenantId, id) => {
      const row = await store.get(name, tenantId, id)
      if (row !== undefined) noteVersion(id, String(row.version))
      return row && { record: await opened(tenantId, row), version: row.version }
    },

    find: async (tenantId, { start, ...query } = {}) => {
      const itemsOf = (rows: readonly RecordRow[]) =>
        eachInTurn(rows, (row) => opened(tenantId, row, query.where))
      const { page, size } = query
      if (page !== undefined || size === undefined) {
        const { rows, total } = await store.find(name, tenantId, query)
        return { items: await itemsOf(rows), total }
      }
      const place = { tenantId, list: name }
      const [beforeSeq] = start === undefined ? [] : await readCursor(keys, place, start)
      const from = beforeSeq === undefined ? {} : { beforeSeq }
      const { rows, total } = await store.find(name, tenantId, { ...query, ...from, size: size + 1 })
      const items = await itemsOf(rows.slice(0, size))
      const last = rows[size - 1]
      if (rows.length <= size || last === undefined) return { items, total }
      return { items, total, next: writeCursor(await keys.tenant(tenantId), place, [last.seq]) }
    },

    lookup: async (member, value) => {
      const row = await store.lookup(name, member, value)
      return row && { tenantId: row.tenantId, record: await opened(row.tenantId, row, { [member]: value }) }
    },

    newest: async (limit) =>
      eachInTurn(await store.newest(name, limit), async (row) => ({
        tenantId: row.tenantId,
        record: await opened(row.tenantId, row),
      })),

    insert: async (tenantId, record) => commit(records.insertMutation(tenantId, record)),

    update: (tenantId, id, change) =>
      runExclusive(`${tenantId} ${id}`, async () => {
        let version: number | undefined
        const attempt = async (): Promise<T | undefined> => {
          const current = await store.get(name, tenantId, id)
          if (current === undefined) return undefined
          version = current.version
          checkVersion(id, String(version))
          noteVersion(id, String(version))
          const before = await opened(tenantId, current)
          const record = change(before)
          if (record !== before) await commit(records.replaceMutation(tenantId, record, version))
          return record
        }
        // A conflict with the version unchanged is about a lookup value, and would not go away.
        return retryOnConflict(
          attempt,
          async () => (await store.get(name, tenantId, id))?.version !== version,
        )
      }),

    delete: async (tenantId, id) => {
      if ((await store.get(name, tenantId, id)) === undefined) return false
      try {
        await commit(records.deleteMutation(tenantId, id))
        return true
      } catch (thrown) {
        if (isConflict(thrown) && (await store.get(name, tenantId, id)) === undefined) return false
        throw thrown
      }
    },

    insertMutation: (tenantId, record) => ({
      kind: 'insert',
      collection: name,
      tenantId,
      id: record.id,
      record: checked(record),
    }),

    replaceMutation: (tenantId, record, version) => ({
      kind: 'replace',
      collection: name,
      tenantId,
      id: record.id,
      record: checked(record),
      version,
    }),

    deleteMutation: (tenantId, id) => ({ kind: 'delete', collection: name, tenantId, id }),
  }
  return Object.freeze(records)
}
