import { newId } from '#sdk'
import type { ApplicationStore, Change } from './application-store.ts'
import type { ApplicationRecord } from './collections.ts'

/** Changes of applications. */
export const applicationChanges = ({ applications, keys, issueKey, insert, alter }: ApplicationStore) => ({
  /** Application and first key, both or neither. */
  create: async (
    application: Omit<ApplicationRecord, 'id' | 'keys_made' | 'created_by' | 'created_at'>,
    withKey: boolean,
    change: Change,
  ): Promise<{ application: ApplicationRecord; key?: string }> => {
    const record: ApplicationRecord = {
      ...application,
      id: newId(),
      keys_made: 0,
      created_by: change.actorId,
      created_at: change.now,
    }
    if (!withKey) {
      await insert(change.tenantId, record)
      return { application: record }
    }
    const issued = issueKey(record, change)
    const withFirstKey = { ...record, keys_made: issued.record.version }
    await insert(change.tenantId, withFirstKey, issued.record)
    return { application: withFirstKey, key: issued.key }
  },

  update: (
    id: string,
    change: Change,
    next: (current: ApplicationRecord) => ApplicationRecord,
  ): Promise<ApplicationRecord> =>
    alter(change.tenantId, id, (current) => {
      const record = { ...next(current), modified_by: change.actorId, modified_at: change.now }
      return { record, mutations: [], result: record }
    }),

  /** With all its keys. */
  delete: (tenantId: string, id: string): Promise<void> =>
    alter(tenantId, id, (_application, current) => ({
      mutations: [
        ...current.map((key) => keys().deleteMutation(tenantId, key.id)),
        applications().deleteMutation(tenantId, id),
      ],
      result: undefined,
    })),
})
