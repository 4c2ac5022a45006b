import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { codeOf } from '../common/errors.ts'
import { lockFile } from '../common/file-lock.ts'
import { shellQuote } from '../common/shell-quote.ts'
import { type Role, runDirOf } from './messages.ts'
import { StartError } from './start-error.ts'

interface DataDirectory {
  /** Directory of the sockets, relative to the data directory. */
  readonly runDir: string
  release(): void
}

const describe = (error: unknown): string => codeOf(error) || 'unknown error'

/** Locks a part of the service. The system releases the lock when the process ends, so it cannot become stale. */
const lock = (runDir: string, part: string, dataDir: string): (() => void) => {
  const owner = join(runDir, `${part}.pid`)
  const unlock = lockFile(join(runDir, `${part}.lock`))
  if (unlock === undefined) {
    let pid = ''
    try {
      pid = ` (process ${readFileSync(owner, 'utf8').trim()})`
    } catch {
      // The owner has not written it yet.
    }
    throw new StartError(
      `Another Sidevault${pid} runs on the data directory "${dataDir}". Stop it, or set SIDEVAULT_DATA_DIR and SIDEVAULT_LISTEN for a second one.`,
    )
  }
  writeFileSync(owner, `${process.pid}\n`)
  return unlock
}

/** Creates a directory and its parents. Node's own `recursive` never returns below /proc. */
const makeDirectory = (path: string): void => {
  if (existsSync(path)) return
  makeDirectory(dirname(path))
  mkdirSync(path, { mode: 0o700 })
}

/** Names that only a data directory has. Other programs have folders `run` and `audit` too: their content decides. */
const OURS = /^(root\.(key|salt)|sidevault\.db|replica-id)$/
const CONTENT: Readonly<Record<string, RegExp>> = {
  run: /^(admin|gateway)\.lock$/,
  audit: /^(admin|gateway-\d+|operator)(-[0-9a-f]{12})?\.\d{6,}\.jsonl$/,
}

const isOurs = (path: string, name: string): boolean => {
  const content = CONTENT[name]
  if (content === undefined) return OURS.test(name)
  const folder = join(path, name)
  return statSync(folder).isDirectory() && readdirSync(folder).some((file) => content.test(file))
}

/**
 * Rejects a folder with foreign content that other users can read, such as a home directory: mode 0700 would lock
 * them out.
 */
const rejectSharedFolder = (path: string): void => {
  if (!existsSync(path) || (statSync(path).mode & 0o077) === 0) return
  // A disk of its own holds `lost+found`.
  const entries = readdirSync(path).filter((name) => name !== 'lost+found')
  if (entries.length === 0 || entries.some((name) => isOurs(path, name))) return
  throw new StartError(
    `"${path}" is open to other users and contains files that are not Sidevault's. Set SIDEVAULT_DATA_DIR to a separate folder, or close this one first: chmod 700 ${shellQuote(path)}`,
  )
}

/**
 * Creates the data directory (0700) and locks it for one supervisor. Roles that do not overlap may share it.
 * Throws StartError if another supervisor has locked it or it cannot be written.
 */
export const openDataDirectory = (dataDir: string, role: Role): DataDirectory => {
  const runDir = runDirOf(role)
  const locks = join(dataDir, 'run')
  const releases: (() => void)[] = []
  const release = () => {
    for (const unlock of releases.splice(0)) unlock()
  }
  try {
    rejectSharedFolder(dataDir)
    for (const directory of [dataDir, locks, join(dataDir, runDir)]) {
      makeDirectory(directory)
      chmodSync(directory, 0o700)
    }
    for (const part of role === 'all' ? ['admin', 'gateway'] : [role])
      releases.push(lock(locks, part, dataDir))
  } catch (error) {
    release()
    if (error instanceof StartError) throw error
    throw new StartError(
      `The data directory "${dataDir}" cannot be created or written (${describe(error)}). Set SIDEVAULT_DATA_DIR to one that this user owns, and check its free space.`,
    )
  }
  return { runDir, release }
}
