import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { AppError } from '../common/errors.ts'
import { isObject } from '../common/json.ts'

/** Not `.lock`: those belong to journals. */
const FILE = 'retention.hold'
/** A removal takes a second at most (ms, times). */
const TIMEOUT = { wait: 20, times: 1_000 } as const

const codeOf = (thrown: unknown): unknown => (isObject(thrown) ? thrown.code : undefined)

/** False when the file does not exist and cannot be created: then nothing can be removed either. */
const made = (path: string): boolean => {
  try {
    closeSync(openSync(path, 'wx', 0o600))
    return true
  } catch (thrown) {
    return codeOf(thrown) === 'EEXIST'
  }
}

/** SQLite's locks on an empty database: the kernel releases them with the process (see `journal-lock.ts`). */
const locked = (path: string, statement: string, readonly: boolean): (() => void) | undefined => {
  const database = new Database(path, { timeout: 0, readonly })
  try {
    database.exec(statement)
    return () => database.close()
  } catch (thrown) {
    database.close()
    if (codeOf(thrown) === 'SQLITE_BUSY') return undefined
    throw thrown
  }
}

/** Locks journal files for removal until the returned function is called; undefined while others read them. */
export const lockForRemoval = (directory: string): (() => void) | undefined => {
  const path = join(directory, FILE)
  return made(path) ? locked(path, 'BEGIN EXCLUSIVE', false) : undefined
}

const lockJournalFiles = async (directory: string): Promise<() => void> => {
  const path = join(directory, FILE)
  if (!made(path)) return () => {}
  for (let left = TIMEOUT.times; left > 0; left--) {
    const release = locked(path, 'BEGIN; SELECT count(*) FROM sqlite_master', true)
    if (release !== undefined) return release
    await delay(TIMEOUT.wait)
  }
  throw new AppError(
    'gateway_timeout',
    `Removal of audit journal files in "${directory}" has not finished in time. Try again.`,
  )
}

/** Runs `work` while no journal file of the directory is removed. Concurrent calls share the lock. */
export const withRetainedFiles = async <T>(directory: string, work: () => Promise<T>): Promise<T> => {
  const release = await lockJournalFiles(directory)
  try {
    return await work()
  } finally {
    release()
  }
}
