import { setTimeout } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { systemClock } from '../../common/clock.ts'
import { AppError, codeOf } from '../../common/errors.ts'
import { makePrivateFile } from '../../common/file-lock.ts'
import type { Log } from '../../common/log.ts'
import { SCHEMA_VERSION } from '../migrations/index.ts'
import { rejectUnsupportedVersion } from '../schema-version.ts'
import type { Store } from '../store.ts'
import { createStore } from '../store.ts'
import { readOnlyWriter, type WriterLimits } from '../writer.ts'
import { type Connection, connect } from './connection.ts'
import { fromSqlite } from './errors.ts'
import { migrate, schemaVersion } from './migrate.ts'
import { rejectMigrated } from './migrated.ts'
import { createReader } from './reader.ts'
import { createSqliteSession } from './session.ts'
import { onFirstWrite, startWriter } from './writer.ts'

interface SqliteOptions {
  readonly path: string
  readonly mode: 'read-write' | 'join' | 'read-only'
  /**
   * ms to wait for another process that starts; other modes than read-write also wait for one that migrates the
   * schema.
   */
  readonly timeout: number
  readonly limits?: Partial<WriterLimits>
}

const POLL = 25

/** Error of a file that cannot be opened, with a fix. */
const explain = (thrown: unknown, path: string): AppError => {
  if (thrown instanceof AppError) return thrown
  const code = codeOf(thrown)
  if (code.startsWith('SQLITE_NOTADB') || code.startsWith('SQLITE_CORRUPT'))
    return new AppError(
      'invalid',
      `The file "${path}" is not a valid SQLite database. Restore a backup, or name another file. Nothing was changed.`,
    )
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) return fromSqlite(thrown)
  return new AppError(
    'gateway_timeout',
    `The database "${path}" cannot be opened (${code || 'unknown reason'}). Check that its directory exists and that this user can read and write it.`,
    { cause: thrown },
  )
}

/** Throws `SQLITE_BUSY` while another process prepares the file, instead of blocking the thread. */
const prepareNow = (log: Log, path: string): void => {
  const db = connect(path, { readonly: false, busyMs: POLL })
  try {
    db.pragma('journal_mode = WAL')
    const version = schemaVersion(db)
    rejectUnsupportedVersion(version)
    rejectMigrated(db)
    if (version === SCHEMA_VERSION) return
    const schema = { from: version, to: SCHEMA_VERSION }
    if (version > 0) log.info(schema, 'migrating the schema: some seconds for a million audit records')
    migrate(db, systemClock.now())
    if (version > 0) log.info(schema, 'schema migrated')
  } finally {
    db.close()
  }
}

const prepare = async (log: Log, path: string, deadline: number): Promise<void> => {
  makePrivateFile(path)
  for (;;) {
    try {
      prepareNow(log, path)
      return
    } catch (thrown) {
      if (!codeOf(thrown).startsWith('SQLITE_BUSY') || systemClock.now() > deadline) throw thrown
      await setTimeout(POLL)
    }
  }
}

/** A read-only connection when the schema has this program's version; else undefined. */
const tryReader = (path: string): Connection | undefined => {
  let db: Connection
  try {
    db = connect(path, { readonly: true })
  } catch (thrown) {
    // The file does not exist yet, or its writer is starting.
    if (/^SQLITE_(CANTOPEN|BUSY)/.test(codeOf(thrown))) return undefined
    throw thrown
  }
  try {
    const version = schemaVersion(db)
    rejectUnsupportedVersion(version)
    rejectMigrated(db)
    if (version === SCHEMA_VERSION) return db
  } catch (thrown) {
    db.close()
    if (/^SQLITE_(CANTOPEN|BUSY)/.test(codeOf(thrown))) return undefined
    throw thrown
  }
  db.close()
  return undefined
}

const openReader = async (path: string, deadline: number): Promise<Connection> => {
  for (;;) {
    const db = tryReader(path)
    if (db) return db
    if (systemClock.now() > deadline)
      throw new AppError(
        'gateway_timeout',
        `The database "${path}" is missing or does not have the schema of this version. Start the admin role on the same data directory: it creates and migrates the database.`,
      )
    await setTimeout(POLL)
  }
}

export const openSqlite = async ({ log }: { readonly log: Log }, options: SqliteOptions): Promise<Store> => {
  const { path, mode, timeout, limits } = options
  const deadline = systemClock.now() + timeout
  const owner = mode === 'read-write'
  try {
    if (path === '' || path === ':memory:')
      throw new AppError(
        'invalid',
        'The store must be a file, because writer and readers use separate connections.',
      )
    if (owner) await prepare(log, path, deadline)
    const start = () => startWriter({ log }, { path, ...(limits ? { limits } : {}) })
    const writer = owner ? await start() : mode === 'join' ? onFirstWrite(start) : readOnlyWriter
    let db: Connection
    try {
      db = await openReader(path, deadline)
    } catch (thrown) {
      await writer.close()
      throw thrown
    }
    const reader = createReader({ path })
    let closing: Promise<void> | undefined
    const close = async () => {
      // The writer last: the last connection to close checkpoints the WAL, which only a writer can.
      reader.close()
      db.close()
      await writer.close()
    }
    return createStore(
      { session: createSqliteSession(db, { reader }), writer },
      { writable: owner, close: () => (closing ??= close()) },
    )
  } catch (thrown) {
    throw thrown instanceof Database.SqliteError || codeOf(thrown) !== '' ? explain(thrown, path) : thrown
  }
}
