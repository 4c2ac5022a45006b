import type { Connection } from './connection.ts'

/** ms that an attempt waits for readers; the writer is blocked during that time. */
const TIMEOUT = 20
/** ms until the next attempt. */
const RETRY = 200
/** ms that the last attempt waits for readers. */
const LAST_TIMEOUT = 1_000

interface WalCheckpointer {
  /** Checkpoints and truncates the WAL: now, or as soon as no reader needs it. */
  truncate(): void
  /** Runs a pending attempt once more, with a longer timeout. */
  finish(): void
}

/**
 * The WAL holds earlier versions of pages, so a destroyed key would stay there until enough is written after it. After
 * `wal_checkpoint(TRUNCATE)` only the database file is left, which `secure_delete` has zeroed.
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
      // Another process writes or checkpoints, or the disk is full: retry.
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
