import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { createSecretFile, readSecretFile } from '../keys/secret-file.ts'

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

/** Whether a journal that the store remembers lies in this data directory, or should. */
export const isOwnJournal = async ({ postgres, dataDir }: Config): Promise<(name: string) => boolean> => {
  if (postgres === undefined) return () => true
  const end = `-${await replicaId(dataDir)}`
  return (name) => name.endsWith(end)
}
