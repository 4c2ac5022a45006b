import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import { createLog } from '../common/log.ts'
import { syncPath } from '../common/sync-path.ts'
import type { Config } from '../config.ts'
import { journalDirectory } from '../roles/replica.ts'
import { storeLocation } from '../roles/runtime.ts'
import { openStore } from '../store/open.ts'
import { sqliteTarget } from '../store/snapshot/sqlite.ts'
import type { SnapshotTarget } from '../store/snapshot/types.ts'
import type { Store } from '../store/store.ts'
import { partialIssue, publish } from './atomic-rename.ts'
import { rejectOtherOwner } from './open-vault.ts'

/** A restored vault until it is published. */
export interface Staged {
  /** Empty folder for its journals. */
  readonly folder: string
  /** Opens the empty store for the copy. */
  target(schema: number): Promise<SnapshotTarget>
  /** Runs `work` on the restored store. */
  read<T>(work: (store: Store) => Promise<T>): Promise<T>
  /** Publishes the vault; never replaces a file. `journals`: names of the files in `folder`. */
  publish(journals: readonly string[]): Promise<void>
  /** Removes everything that was not published. */
  remove(): Promise<void>
}

/** All files of a database: SQLite would replay the logs of an older one into the restored one. */
const DATABASE_FILES = ['', '-wal', '-shm', '-journal'] as const

const rejectFull = async (config: Config): Promise<void> => {
  const journals = await readdir(journalDirectory(config)).catch((): string[] => [])
  const database =
    config.postgres === undefined && DATABASE_FILES.some((end) => existsSync(config.store + end))
  if (database || journals.length > 0)
    throw new AppError(
      'invalid',
      `The data directory "${config.dataDir}" contains a vault or files of one. Set SIDEVAULT_DATA_DIR to an empty directory.`,
    )
}

/** Publishes the journals, then the store; removes the journals when that fails. */
const publishJournals = async (
  config: Config,
  folder: string,
  files: readonly string[],
  store: () => Promise<void>,
): Promise<void> => {
  const journals = journalDirectory(config)
  await rejectFull(config)
  await syncPath(folder)
  // Replaces only an empty directory.
  await rename(folder, journals)
  try {
    await syncPath(config.dataDir)
    await store()
  } catch (thrown) {
    // The store may have been committed, and needs them then.
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

/** Rejects when another restore is in progress or was killed: one would publish files that the other still writes. */
export const stage = async (config: Config): Promise<Staged> => {
  rejectOtherOwner(config.dataDir)
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
