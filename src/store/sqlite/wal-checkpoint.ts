import type { Connection } from './connection.ts'

/** ms that an attempt waits for readers; the writer stands still meanwhile. */
const TIMEOUT = 20
/** ms until the next attempt. */
const RETRY = 200
/** ms that the last attempt waits for readers. */
const LAST_TIMEOUT = 1_000

export interface WalCheckpointer {
  /** Folds the write-ahead log into the database and cuts it to nothing: now, or as soon as no reader needs it. */
  truncate(): void
  /** Attempts once more what is still to be done, for longer, and gives up. */
  finish(): void
}

/**
 * The log keeps pages as they were before they were overwritten, so that a destroyed key would lie there until enough
 * has been written after it. Emptying it leaves only the database file, where `secure_delete` has put zeros.
 */
export const createWalCheckpointer = (db: Connection): WalCheckpointer => {
  let timer: NodeJS.Timeout | undefined

  const attempt = (timeoutMs: number): boolean => {
    if (db.inTransaction) return false
    const timeout = db.pragma('busy_timeout', { simple: true })
    db.pragma(`busy_timeout = ${timeoutMs}`)
    try {
      return db.pragma('wal_checkpoint(TRUNCATE)', { simple: true }) === 0
    } catch {
      // Another process writes or checkpoints, or the disk is full: the log stays, and with it the need.
      return false
    } finally {
      db.pragma(`busy_timeout = ${timeout}`)
    }
  }

  const truncate = (): void => {
    clearTimeout(timer)
    timer = attempt(TIMEOUT) ? undefined : setTimeout(truncate, RETRY).unref()
  }

  const finish = (): void => {
    if (timer === undefined) return
    clearTimeout(timer)
    attempt(LAST_TIMEOUT)
  }

  return { truncate, finish }
}
