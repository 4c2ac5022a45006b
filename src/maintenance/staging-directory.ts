import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import { createLog } from '../common/log.ts'
import type { Config } from '../config.ts'
import { journalDirectory } from '../roles/replica.ts'
import { storeLocation } from '../roles/runtime.ts'
import { openStore } from '../store/open.ts'
import { sqliteTarget } from '../store/snapshot/sqlite.ts'
import type { CopyTarget } from '../store/snapshot/types.ts'
import type { Store } from '../store/types.ts'
import { partialIssue, publish, syncPath } from './atomic-rename.ts'

/** Where a restored vault lies until it counts. */
export interface Staged {
  /** An empty folder for its journals. */
  readonly folder: string
  /** The empty store that is filled. */
  target(schema: number): Promise<CopyTarget>
  /** Runs `work` on the store that was filled. */
  read<T>(work: (store: Store) => Promise<T>): Promise<T>
  /** From now on it counts: nothing that is there meanwhile is replaced. `journals`: names of the files in `folder`. */
  publish(journals: readonly string[]): Promise<void>
  /** Whatever did not come to count is gone. */
  remove(): Promise<void>
}

/** SQLite would play the logs of an older database into the one that is restored. */
const DATABASE_FILES = ['', '-wal', '-shm', '-journal'] as const

const rejectFull = async (config: Config): Promise<void> => {
  const journals = await readdir(journalDirectory(config)).catch((): string[] => [])
  const database =
    config.postgres === undefined && DATABASE_FILES.some((end) => existsSync(config.store + end))
  if (database || journals.length > 0)
    throw new AppError(
      'invalid',
      `The data directory "${config.dataDir}" holds a vault already, or what is left of one. Set SIDEVAULT_DATA_DIR to an empty one.`,
    )
}

/** Gives the journals their place, then has `store` count too; where that fails they are taken back. */
const publishJournals = async (
  config: Config,
  folder: string,
  files: readonly string[],
  store: () => Promise<void>,
): Promise<void> => {
  const journals = journalDirectory(config)
  await rejectFull(config)
  await syncPath(folder)
  // Over an empty directory only.
  await rename(folder, journals)
  try {
    await syncPath(config.dataDir)
    await store()
  } catch (thrown) {
    // A store of which nobody knows whether it counts may need them.
    if (thrown instanceof AppError && thrown.uncertain) throw thrown
    for (const name of files) await rm(join(journals, name), { force: true })
    await rmdir(journals).catch(() => {})
    throw thrown
  }
}

const inFile = (config: Config, folder: string): Staged => {
  const database = `${config.store}.restoring`
  return {
    folder,
    target: async (schema) => sqliteTarget(database, schema, systemClock.now()),
    read: async (work) => {
      const log = createLog('operator', config.logLevel)
      const store = await openStore({ location: database, mode: 'read-write', log })
      try {
        return await work(store)
      } finally {
        await store.close()
      }
    },
    publish: (journals) =>
      publishJournals(config, folder, journals, async () => {
        await syncPath(database)
        await publish(database, config.store)
      }),
    remove: async () => {
      for (const ending of DATABASE_FILES) await rm(database + ending, { force: true })
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const inDatabase = async (config: Config, folder: string): Promise<Staged> => {
  const { postgresTarget } = await import('../store/snapshot/postgres.ts')
  let target: Awaited<ReturnType<typeof postgresTarget>> | undefined
  const filled = () => {
    if (target === undefined) throw new Error('nothing was restored')
    return target
  }
  return {
    folder,
    target: async (schema) => (target = await postgresTarget(storeLocation(config), schema)),
    read: (work) => work(filled().store),
    publish: (journals) => publishJournals(config, folder, journals, () => filled().commit()),
    remove: async () => {
      await target?.abort()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Refuses when another restore works there, or was killed: of two at once one would publish what the other still writes. */
export const stage = async (config: Config): Promise<Staged> => {
  await rejectFull(config)
  const folder = `${journalDirectory(config)}.restoring`
  const database = `${config.store}.restoring`
  if (existsSync(database)) throw partialIssue(database, { code: 'EEXIST' })
  await mkdir(config.dataDir, { recursive: true, mode: 0o700 })
  await mkdir(folder, { mode: 0o700 }).catch((thrown: unknown) => {
    throw partialIssue(folder, thrown)
  })
  return config.postgres === undefined ? inFile(config, folder) : inDatabase(config, folder)
}
