import Database from 'better-sqlite3'

export type Connection = Database.Database

const BUSY_TIMEOUT = 5_000
/**
 * KiB of page cache of a connection. SQLite scans all cached pages at a commit that reorders pages of an index, so a
 * writer uses a small cache: with 32 MiB a create cost a quarter more.
 */
const CACHE_KIB = { reading: 32_768, writing: 4_096 } as const

/**
 * Bytes of the file that are read in place. Copying a page is a quarter of a point read (9 or 12 µs), and most of the
 * cost of a large index. Mapped pages count as memory of the process, so a large file is mapped in part.
 */
const MAPPED = 268_435_456

interface ConnectOptions {
  readonly readonly: boolean
  /** ms that a statement waits for another process's write. */
  readonly busyMs?: number
}

/** Opens an existing database file. Throws SqliteError when it cannot be opened. */
export const connect = (path: string, { readonly, busyMs = BUSY_TIMEOUT }: ConnectOptions): Connection => {
  const db = new Database(path, { readonly, fileMustExist: true, timeout: busyMs })
  try {
    db.pragma('foreign_keys = ON')
    db.pragma('trusted_schema = OFF')
    db.pragma(`cache_size = -${readonly ? CACHE_KIB.reading : CACHE_KIB.writing}`)
    db.pragma(`mmap_size = ${MAPPED}`)
    db.pragma('temp_store = MEMORY')
    if (!readonly) {
      // An acknowledged write survives power loss, a deleted one leaves no bytes behind (docs/security-model.md,
      // "Durability").
      db.pragma('synchronous = FULL')
      db.pragma('secure_delete = ON')
      // A bound: checkpoint-thread.ts makes them earlier.
      db.pragma('wal_autocheckpoint = 8000')
      db.pragma('journal_size_limit = 67108864')
    }
    return db
  } catch (thrown) {
    db.close()
    throw thrown
  }
}
