import { createKeyedMutex, newKey, notFound, retryOnConflict } from '#kit'
import { AppError, type Mutation, newId, type PluginContext, type Records, Secret } from '#sdk'
import { ApplicationKeys, type ApplicationRecord, Applications, type KeyRecord } from './collections.ts'

/** Keys at a time: enough to rotate without downtime (completions §4). */
const MAX_KEYS = 3
/** Runs of commands at a time. Their keys are not among the others. */
const MAX_RUN_KEYS = 100

const isOfRun = (key: KeyRecord): boolean => key.expires_at !== undefined

/** The author and the time of a change. */
export interface Change {
  readonly tenantId: string
  readonly actorId: string
  readonly now: number
}

/** A new key, with its text, which is never stored. */
export interface IssuedKey {
  readonly record: KeyRecord
  readonly key: string
}

interface Plan<T> {
  readonly mutations: readonly Mutation[]
  readonly record?: ApplicationRecord
  readonly response: T
}

const noApplication = (id: string) => notFound('application_not_found', id)

const noKey = (id: string) => notFound('key_not_found', id)

/**
 * Applications with their keys. Every change of keys also replaces the application at the version read, so
 * that checks made on what was read (how many keys there are, that the application exists) still hold when it commits.
 */
export const createDirectory = (kernel: PluginContext) => {
  // The kernel's services are available after `setup` only.
  const applications = (): Records<ApplicationRecord> => kernel.records(Applications)
  const keys = (): Records<KeyRecord> => kernel.records(ApplicationKeys)

  const runExclusive = createKeyedMutex()

  const keysOf = async (tenantId: string, applicationId: string) =>
    (await keys().find(tenantId, { where: { application_id: applicationId } })).items

  const issue = (application: ApplicationRecord, change: Change): IssuedKey => {
    const key = newKey()
    const record = {
      id: newId(),
      application_id: application.id,
      key_hash: kernel.hashKey(new Secret(key)),
      version: application.keys_made + 1,
      created_by: change.actorId,
      created_at: change.now,
    }
    return { record, key }
  }

  /** Commits the changes that `plan` returns for an application and its keys; retries when either changed concurrently. */
  const alter = <T>(
    tenantId: string,
    id: string,
    plan: (application: ApplicationRecord, keys: readonly KeyRecord[]) => Plan<T>,
  ): Promise<T> =>
    runExclusive(`${tenantId} ${id}`, () =>
      retryOnConflict(async () => {
        const current = await applications().read(tenantId, id)
        if (current === undefined) throw noApplication(id)
        const { mutations, record, response } = plan(current.record, await keysOf(tenantId, id))
        const replacing = applications().replaceMutation(tenantId, record ?? current.record, current.version)
        await kernel.commit([replacing, ...mutations])
        return response
      }),
    )

  const get = async (tenantId: string, id: string): Promise<ApplicationRecord> => {
    const application = await applications().get(tenantId, id)
    if (application === undefined) throw noApplication(id)
    return application
  }

  const getKey = async (tenantId: string, applicationId: string, id: string): Promise<KeyRecord> => {
    await get(tenantId, applicationId)
    const key = await keys().get(tenantId, id)
    if (key?.application_id !== applicationId) throw noKey(id)
    return key
  }

  return {
    applications,
    keys,
    get,
    getKey,

    listKeys: async (tenantId: string, applicationId: string): Promise<readonly KeyRecord[]> => {
      await get(tenantId, applicationId)
      return keysOf(tenantId, applicationId)
    },

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
        await applications().insert(change.tenantId, record)
        return { application: record }
      }
      const { record: keyRecord, key } = issue(record, change)
      const made = { ...record, keys_made: 1 }
      await kernel.commit([
        applications().insertMutation(change.tenantId, made),
        keys().insertMutation(change.tenantId, keyRecord),
      ])
      return { application: made, key }
    },

    update: (
      id: string,
      change: Change,
      next: (current: ApplicationRecord) => ApplicationRecord,
    ): Promise<ApplicationRecord> =>
      alter(change.tenantId, id, (current) => {
        const record = {
          ...next(current),
          modified_by: change.actorId,
          modified_at: change.now,
        }
        return { record, mutations: [], response: record }
      }),

    /** With all its keys. */
    delete: (tenantId: string, id: string): Promise<void> =>
      alter(tenantId, id, (_application, held) => ({
        mutations: [
          ...held.map((key) => keys().deleteMutation(tenantId, key.id)),
          applications().deleteMutation(tenantId, id),
        ],
        response: undefined,
      })),

    /** `check` throws unless the application may have one. */
    addKey: (
      id: string,
      change: Change,
      check: (application: ApplicationRecord) => void,
    ): Promise<IssuedKey> =>
      alter(change.tenantId, id, (application, held) => {
        check(application)
        const count = held.filter((key) => !isOfRun(key)).length
        if (count >= MAX_KEYS)
          throw new AppError(
            'unprocessable',
            `Application "${id}" has ${count} keys, the most it may have. Delete one first.`,
          )
        const issued = issue(application, change)
        return {
          record: { ...application, keys_made: issued.record.version },
          mutations: [keys().insertMutation(change.tenantId, issued.record)],
          response: issued,
        }
      }),

    /** A key for a run of a command, which ends at `expiresAt` unless it is renewed. */
    addRunKey: (id: string, expiresAt: number, change: Change): Promise<IssuedKey> =>
      alter(change.tenantId, id, (application, held) => {
        if (held.filter(isOfRun).length >= MAX_RUN_KEYS)
          throw new AppError(
            'unprocessable',
            `${MAX_RUN_KEYS} commands run with keys of application "${id}", the most that may. End one first.`,
          )
        const { record, key } = issue(application, change)
        const ending = { ...record, expires_at: expiresAt }
        return {
          record: { ...application, keys_made: record.version },
          mutations: [keys().insertMutation(change.tenantId, ending)],
          response: { record: ending, key },
        }
      }),

    deleteKey: (tenantId: string, applicationId: string, id: string): Promise<void> =>
      alter(tenantId, applicationId, (_application, held) => {
        if (!held.some((key) => key.id === id)) throw noKey(id)
        return { mutations: [keys().deleteMutation(tenantId, id)], response: undefined }
      }),

    /** Replaces the only key by a new one. */
    regenerate: (
      id: string,
      change: Change,
      check: (application: ApplicationRecord) => void,
    ): Promise<{ application: ApplicationRecord; key: string }> =>
      alter(change.tenantId, id, (application, held) => {
        check(application)
        const permanent = held.filter((key) => !isOfRun(key))
        if (permanent.length > 1)
          throw new AppError(
            'unprocessable',
            `Application "${id}" has ${permanent.length} keys, so the one to replace is unclear. Create and delete keys at /applications/${id}/keys.`,
          )
        const { record: keyRecord, key } = issue(application, change)
        const record = {
          ...application,
          keys_made: keyRecord.version,
          modified_by: change.actorId,
          modified_at: change.now,
        }
        return {
          record,
          mutations: [
            ...permanent.map((old) => keys().deleteMutation(change.tenantId, old.id)),
            keys().insertMutation(change.tenantId, keyRecord),
          ],
          response: { application: record, key },
        }
      }),
  }
}

export type Directory = ReturnType<typeof createDirectory>
