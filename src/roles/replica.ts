import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { createSecretFile, readSecretFile } from '../keys/secret-file.ts'

export const journalDirectory = (config: Config): string => join(config.dataDir, 'audit')

/** Names this data directory among those that share a database; made once. */
const replicaId = async (dataDir: string): Promise<string> => {
  const path = join(dataDir, 'replica-id')
  const text = (await readSecretFile(path)) ?? (await createSecretFile(path, randomBytes(6).toString('hex')))
  return text.trim()
}

/**
 * The name of a process's journal, unique in its store: where machines share one, with the id of the data directory that
 * the journal lies in.
 */
export const journalName = async ({ postgres, dataDir }: Config, process: string): Promise<string> =>
  postgres === undefined ? process : `${process}-${await replicaId(dataDir)}`

/** Names that bear no replica's id. */
const isPlain = (name: string): boolean => !/-[0-9a-f]{12}$/.test(name)

/**
 * Whether a journal that the store remembers lies in this data directory, or should. Those without a replica's id were
 * written before the vault moved into the shared store, and lie where the file does that it came from.
 */
export const isOwnJournal = async (config: Config): Promise<(name: string) => boolean> => {
  if (config.postgres === undefined) return () => true
  const end = `-${await replicaId(config.dataDir)}`
  const movedFromHere = existsSync(config.store)
  return (name) => name.endsWith(end) || (movedFromHere && isPlain(name))
}
