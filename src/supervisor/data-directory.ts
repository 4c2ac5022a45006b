import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { codeOf } from '../common/errors.ts'
import { type Role, runDirOf } from './messages.ts'
import { StartError } from './start-error.ts'

export interface DataDirectory {
  /** Where sockets go, relative to the data directory. */
  readonly runDir: string
  release(): void
}

const describe = (error: unknown): string => codeOf(error) || 'unknown error'

/**
 * An exclusive SQLite transaction as lock: the system ends it with the process, so there is nothing stale to clean up.
 */
const lock = (runDir: string, part: string, dataDir: string): (() => void) => {
  const owner = join(runDir, `${part}.pid`)
  const database = new Database(join(runDir, `${part}.lock`), { timeout: 0 })
  try {
    database.exec('BEGIN EXCLUSIVE')
  } catch {
    database.close()
    let pid = ''
    try {
      pid = ` (process ${readFileSync(owner, 'utf8').trim()})`
    } catch {
      // the owner has not written it yet
    }
    throw new StartError(
      `Another Sidevault${pid} runs on the data directory "${dataDir}". Stop it, or set SIDEVAULT_DATA_DIR and SIDEVAULT_LISTEN for a second one.`,
    )
  }
  writeFileSync(owner, `${process.pid}\n`)
  return () => database.close()
}

/** With its parents. Node's own `recursive` never returns where nothing can be made, as below /proc. */
const makeDirectory = (path: string): void => {
  if (existsSync(path)) return
  makeDirectory(dirname(path))
  mkdirSync(path, { mode: 0o700 })
}

/** What a data directory may hold before it is one of ours: what operators put there, and a disk's own folder. */
const OURS = /^(run|audit|root\.(key|salt)|sidevault\.db|lost\+found)/

/** A folder that others read and that holds other things, such as a home, would be closed to them: a slip of the setting. */
const rejectSharedFolder = (path: string): void => {
  if (!existsSync(path) || (statSync(path).mode & 0o077) === 0) return
  const entries = readdirSync(path)
  if (entries.length === 0 || entries.some((name) => OURS.test(name))) return
  throw new StartError(
    `"${path}" is open to other users and holds what is not Sidevault's, so it is not made a data directory. Set SIDEVAULT_DATA_DIR to a folder of its own, or close this one first: chmod 700 '${path}'`,
  )
}

/**
 * Makes the data directory (0700) and takes it for one supervisor. Roles may share it when they do not overlap.
 * Throws StartError when another supervisor has it or it cannot be written.
 */
export const openDataDirectory = (dataDir: string, role: Role): DataDirectory => {
  const runDir = runDirOf(role)
  const locks = join(dataDir, 'run')
  try {
    rejectSharedFolder(dataDir)
    for (const directory of [dataDir, locks, join(dataDir, runDir)]) {
      makeDirectory(directory)
      chmodSync(directory, 0o700)
    }
  } catch (error) {
    if (error instanceof StartError) throw error
    throw new StartError(
      `The data directory "${dataDir}" cannot be made or written (${describe(error)}). Set SIDEVAULT_DATA_DIR to one that this user owns.`,
    )
  }
  const releases: (() => void)[] = []
  const release = () => {
    for (const unlock of releases.splice(0)) unlock()
  }
  try {
    for (const part of role === 'all' ? ['admin', 'gateway'] : [role])
      releases.push(lock(locks, part, dataDir))
  } catch (error) {
    release()
    throw error
  }
  return { runDir, release }
}
