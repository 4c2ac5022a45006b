import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { AppError, codeOf } from '../common/errors.ts'

const rejection = (name: string, cause: unknown): AppError =>
  new AppError(
    'gateway_timeout',
    `Another live process writes the audit journal "${name}". Stop it, or use another name or data directory.`,
    { cause },
  )

/**
 * Makes this process the only writer of a journal until the returned function is called or the process exits. The lock is
 * SQLite's exclusive lock on an empty database: Node has no flock, and a PID file outlives `kill -9`, is ambiguous when
 * PIDs are reused, and cannot be taken over without a race.
 */
export const lockJournal = (directory: string, name: string): (() => void) => {
  const path = join(directory, `${name}.lock`)
  try {
    // Only for the mode. An existing file stays open elsewhere: closing a descriptor of it would release its lock.
    closeSync(openSync(path, 'wx', 0o600))
  } catch (thrown) {
    if (codeOf(thrown) !== 'EEXIST') throw thrown
  }
  const database = new Database(path, { timeout: 0 })
  try {
    database.exec('BEGIN EXCLUSIVE')
  } catch (thrown) {
    database.close()
    if (codeOf(thrown) === 'SQLITE_BUSY') throw rejection(name, thrown)
    throw thrown
  }
  return () => database.close()
}
