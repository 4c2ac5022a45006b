import Database from 'better-sqlite3'
import { AppError } from '../../src/common/errors.ts'
import type { Connection } from '../../src/store/sqlite/connection.ts'
import { fromWire } from '../../src/store/sqlite/errors.ts'
import { createGroupCommit } from '../../src/store/sqlite/group-commit.ts'
import { migrate } from '../../src/store/sqlite/migrate.ts'
import { createSqliteSession } from '../../src/store/sqlite/session.ts'
import type { Store } from '../../src/store/store.ts'
import { createStore } from '../../src/store/store.ts'
import type { Writer } from '../../src/store/writer.ts'

/** When tables are made: 2033-05-18T03:33:20Z. */
const MADE_AT = 2_000_000_000_000

interface InThreadOptions {
  /** Receives each statement, values filled in. */
  readonly verbose?: (sql: unknown) => void
  /** Commits reach the disk. Default false: faster. */
  readonly durable?: boolean
}

/**
 * A SQLite store without its threads: starting the writer costs more CPU than most tests. Commands, results and errors
 * are cloned as messages to the writer are (src/store/sqlite/worker.ts).
 */
export const storeInThread = (
  path: string,
  { verbose, durable = false }: InThreadOptions = {},
): { readonly store: Store; readonly db: Connection } => {
  const db = new Database(path, verbose === undefined ? {} : { verbose })
  db.pragma('foreign_keys = ON')
  db.pragma('journal_mode = WAL')
  if (!durable) db.pragma('synchronous = OFF')
  migrate(db, MADE_AT)
  const commit = createGroupCommit(db)
  let last: Promise<unknown> = Promise.resolve()
  let closing: Promise<void> | undefined
  const writer: Writer = {
    write: async (command, args, _bytes, lease) => {
      if (closing) throw new AppError('overloaded', 'The store is closed.')
      const jobs = structuredClone([{ number: 1, command: command.name, args, lease }])
      const written = last.then(() => commit(jobs))
      last = written
      const [result] = structuredClone(await written)
      if (!result?.ok) throw fromWire(result!.error)
      return result.value as never
    },
    close: async () => {},
  }
  const close = () => {
    closing ??= last.then(() => void db.close())
    return closing
  }
  return {
    store: createStore({ session: createSqliteSession(db), writer }, { writable: true, close }),
    db,
  }
}

/** For `openStore` of a test service (service.ts). */
export const openInThread = (path: string): Store => storeInThread(path).store
