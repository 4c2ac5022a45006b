import { AppError } from '#sdk'
import { type ApplicationStore, type Change, type IssuedKey, noKey } from './application-store.ts'
import type { ApplicationRecord, KeyRecord } from './collections.ts'

/** Keys at a time: enough to rotate without downtime (completions §4). */
const MAX_KEYS = 3
/** Runs of commands at a time. Their keys are not among the others. */
const MAX_RUN_KEYS = 100

const isOfRun = (key: KeyRecord): boolean => key.expires_at !== undefined

/** Changes of the keys of an application. */
export const keyChanges = ({ keys, issueKey, alter }: ApplicationStore) => ({
  /** `check` throws unless the application may have one. */
  addKey: (id: string, change: Change, check: (application: ApplicationRecord) => void): Promise<IssuedKey> =>
    alter(change.tenantId, id, (application, current) => {
      check(application)
      const count = current.filter((key) => !isOfRun(key)).length
      if (count >= MAX_KEYS)
        throw new AppError(
          'unprocessable',
          `Application "${id}" has ${count} keys, the most it may have. Delete one first.`,
        )
      const issued = issueKey(application, change)
      return {
        record: { ...application, keys_made: issued.record.version },
        mutations: [keys().insertMutation(change.tenantId, issued.record)],
        result: issued,
      }
    }),

  /** A key for a run of a command, which ends at `expiresAt` unless it is renewed. */
  addRunKey: (id: string, expiresAt: number, change: Change): Promise<IssuedKey> =>
    alter(change.tenantId, id, (application, current) => {
      if (current.filter(isOfRun).length >= MAX_RUN_KEYS)
        throw new AppError(
          'unprocessable',
          `${MAX_RUN_KEYS} commands run with keys of application "${id}", the most that may. End one first.`,
        )
      const { record, key } = issueKey(application, change)
      const expiring = { ...record, expires_at: expiresAt }
      return {
        record: { ...application, keys_made: record.version },
        mutations: [keys().insertMutation(change.tenantId, expiring)],
        result: { record: expiring, key },
      }
    }),

  deleteKey: (tenantId: string, applicationId: string, id: string): Promise<void> =>
    alter(tenantId, applicationId, (_application, current) => {
      if (!current.some((key) => key.id === id)) throw noKey(id)
      return { mutations: [keys().deleteMutation(tenantId, id)], result: undefined }
    }),

  /** Replaces the only key by a new one. */
  regenerate: (
    id: string,
    change: Change,
    check: (application: ApplicationRecord) => void,
  ): Promise<{ application: ApplicationRecord; key: string }> =>
    alter(change.tenantId, id, (application, current) => {
      check(application)
      const permanent = current.filter((key) => !isOfRun(key))
      if (permanent.length > 1)
        throw new AppError(
          'unprocessable',
          `Application "${id}" has ${permanent.length} keys, so the one to replace is unclear. Create and delete keys at /applications/${id}/keys.`,
        )
      const issued = issueKey(application, change)
      const record = {
        ...application,
        keys_made: issued.record.version,
        modified_by: change.actorId,
        modified_at: change.now,
      }
      return {
        record,
        mutations: [
          ...permanent.map((old) => keys().deleteMutation(change.tenantId, old.id)),
          keys().insertMutation(change.tenantId, issued.record),
        ],
        result: { application: record, key: issued.key },
      }
    }),
})
