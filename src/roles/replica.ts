import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createSecretFile, readSecretFile } from '../common/secret-file.ts'
import type { Config } from '../config.ts'

export const journalDirectory = (config: Config): string => join(config.dataDir, 'audit')

/** Id of this data directory among those that share a database. Created once. */
const replicaId = async (dataDir: string): Promise<string> => {
  const path = join(dataDir, 'replica-id')
  const text = (await readSecretFile(path)) ?? (await createSecretFile(path, randomBytes(6).toString('hex')))
  return text.trim()
}

/**
 * The name of a process's journal, unique in its store. With PostgreSQL it contains the id of the data directory, as
 * several machines may share the store.
 */
export const journalName = async ({ postgres, dataDir }: Config, process: string): Promise<string> =>
  postgres === undefined ? process : `${process}-${await replicaId(dataDir)}`

/** True for names without a replica id. */
const isPlain = (name: string): boolean => !/-[0-9a-f]{12}$/.test(name)

/**
 * Resolves with a check whether a journal of the store belongs to this data directory. Journals without a replica id
 * were written before the migration to PostgreSQL; they belong to the directory of the migrated SQLite file.
 */
export const isOwnJournal = async (config: Config): Promise<(name: string) => boolean> => {
  if (config.postgres === undefined) return () => true
  const end = `-${await replicaId(config.dataDir)}`
  const migratedFromHere = existsSync(config.store)
  return (name) => name.endsWith(end) || (migratedFromHere && isPlain(name))
}
