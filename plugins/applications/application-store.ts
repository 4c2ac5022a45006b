import { createKeyedMutex, newKey, notFound, retryOnConflict } from '#kit'
import { type Mutation, newId, type PluginContext, type Records, Secret } from '#sdk'
import { ApplicationKeys, type ApplicationRecord, Applications, type KeyRecord } from './collections.ts'

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

/** What a change commits, and its result. */
interface Plan<T> {
  readonly mutations: readonly Mutation[]
  /** The application as it is afterwards. Default: unchanged. */
  readonly record?: ApplicationRecord
  readonly result: T
}

const noApplication = (id: string) => notFound('application_not_found', id)

export const noKey = (id: string) => notFound('key_not_found', id)

/**
 * Applications with their keys. Every change of keys also replaces the application at the version read, so
 * that checks made on what was read (how many keys there are, that the application exists) still hold when it commits.
 */
export const createApplicationStore = (context: PluginContext) => {
  // The kernel's services are available after `setup` only.
  const applications = (): Records<ApplicationRecord> => context.records(Applications)
  const keys = (): Records<KeyRecord> => context.records(ApplicationKeys)

  const runExclusive = createKeyedMutex()

  const keysOf = async (tenantId: string, applicationId: string) =>
    (await keys().find(tenantId, { where: { application_id: applicationId } })).items

  const get = async (tenantId: string, id: string): Promise<ApplicationRecord> => {
    const application = await applications().get(tenantId, id)
    if (application === undefined) throw noApplication(id)
    return application
  }

  return {
    applications,
    keys,
    get,

    getKey: async (tenantId: string, applicationId: string, id: string): Promise<KeyRecord> => {
      await get(tenantId, applicationId)
      const key = await keys().get(tenantId, id)
      if (key?.application_id !== applicationId) throw noKey(id)
      return key
    },

    listKeys: async (tenantId: string, applicationId: string): Promise<readonly KeyRecord[]> => {
      await get(tenantId, applicationId)
      return keysOf(tenantId, applicationId)
    },

    /** A key for an application, not yet stored. */
    issueKey: (application: ApplicationRecord, change: Change): IssuedKey => {
      const key = newKey()
      const record = {
        id: newId(),
        application_id: application.id,
        key_hash: context.hashKey(new Secret(key)),
        version: application.keys_made + 1,
        created_by: change.actorId,
        created_at: change.now,
      }
      return { record, key }
    },

    /** Inserts an application, with a key or without one. */
    insert: async (tenantId: string, application: ApplicationRecord, key?: KeyRecord): Promise<void> => {
      if (key === undefined) await applications().insert(tenantId, application)
      else
        await context.commit([
          applications().insertMutation(tenantId, application),
          keys().insertMutation(tenantId, key),
        ])
    },

    /**
     * Commits the changes that `plan` returns for an application and its keys; retries when either changed
     * concurrently.
     */
    alter: <T>(
      tenantId: string,
      id: string,
      plan: (application: ApplicationRecord, keys: readonly KeyRecord[]) => Plan<T>,
    ): Promise<T> =>
      runExclusive(`${tenantId} ${id}`, () =>
        retryOnConflict(async () => {
          const current = await applications().read(tenantId, id)
          if (current === undefined) throw noApplication(id)
          const { mutations, record, result } = plan(current.record, await keysOf(tenantId, id))
          const replacing = applications().replaceMutation(
            tenantId,
            record ?? current.record,
            current.version,
          )
          await context.commit([replacing, ...mutations])
          return result
        }),
      ),
  }
}

export type ApplicationStore = ReturnType<typeof createApplicationStore>
