import { closeSync, openSync } from 'node:fs'
import Database from 'better-sqlite3'
import { codeOf } from './errors.ts'

/** Creates an empty file (0600) unless it exists: SQLite would follow the umask. */
export const makePrivateFile = (path: string): void => {
  try {
    // An existing file stays closed here: closing a descriptor of it would release the locks of this process.
    closeSync(openSync(path, 'wx', 0o600))
  } catch (thrown) {
    if (codeOf(thrown) !== 'EEXIST') throw thrown
  }
}

/**
 * Locks a file until the returned function is called or the process exits; undefined while another connection holds a
 * lock that excludes this one. These are SQLite's locks on an empty database: Node has no flock, and a PID file
 * outlives `kill -9`, is ambiguous when PIDs are reused, and cannot be taken over without a race.
 */
export const lockFile = (
  path: string,
  mode: 'exclusive' | 'shared' = 'exclusive',
): (() => void) | undefined => {
  makePrivateFile(path)
  const database = new Database(path, { timeout: 0, readonly: mode === 'shared' })
  try {
    database.exec(mode === 'shared' ? 'BEGIN; SELECT count(*) FROM sqlite_master' : 'BEGIN EXCLUSIVE')
    return () => database.close()
  } catch (thrown) {
    database.close()
    if (codeOf(thrown) === 'SQLITE_BUSY') return undefined
    throw thrown
  }
}
