import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { AppError } from '../common/errors.ts'
import { lockFile, makePrivateFile } from '../common/file-lock.ts'

/** Not `.lock`: those belong to journals. */
const FILE = 'retention.hold'
/** A removal takes a second at most (ms, times). */
const TIMEOUT = { wait: 20, times: 1_000 } as const

/** The file of the lock; undefined when it does not exist and cannot be created: then nothing can be removed either. */
const lockIn = (directory: string): string | undefined => {
  const path = join(directory, FILE)
  try {
    makePrivateFile(path)
  } catch {
    return undefined
  }
  return path
}

/** Locks journal files for removal until the returned function is called; undefined while others read them. */
export const lockForRemoval = (directory: string): (() => void) | undefined => {
  const path = lockIn(directory)
  return path === undefined ? undefined : lockFile(path)
}

const lockJournalFiles = async (directory: string): Promise<() => void> => {
  const path = lockIn(directory)
  if (path === undefined) return () => {}
  for (let left = TIMEOUT.times; left > 0; left--) {
    const release = lockFile(path, 'shared')
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
