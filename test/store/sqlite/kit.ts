import Database from 'better-sqlite3'
import type { Connection } from '../../../src/store/sqlite/connection.ts'
import { fromWire } from '../../../src/store/sqlite/errors.ts'
import { createGroupCommit } from '../../../src/store/sqlite/group-commit.ts'
import { migrate } from '../../../src/store/sqlite/migrate.ts'
import { createSqliteSession } from '../../../src/store/sqlite/session.ts'
import { createStore } from '../../../src/store/store.ts'
import type { Store } from '../../../src/store/types.ts'
import type { Writer } from '../../../src/store/writer.ts'
import { NOW } from '../kit.ts'

export interface TracedStore {
  readonly store: Store
  readonly db: Connection
  /** SQL run since the last call, values filled in. */
  readonly applied: () => readonly string[]
}

/** A store whose reads and writes share this thread and one connection, with every statement noted down. */
export const tracedStore = (path: string): TracedStore => {
  let statements: string[] = []
  const db = new Database(path, { verbose: (sql) => statements.push(String(sql)) })
  db.pragma('foreign_keys = ON')
  db.pragma('journal_mode = WAL')
  migrate(db, NOW)
  const commit = createGroupCommit(db)
  const writer: Writer = {
    write: async (command, args) => {
      const [response] = await commit([{ number: 1, command, args }])
      if (!response?.ok) throw fromWire(response!.error)
      return response.value as never
    },
    close: async () => {},
  }
  const close = async () => {
    db.close()
  }
  return {
    store: createStore({ session: createSqliteSession(db), writer }, { writable: true, close }),
    db,
    applied: () => {
      const all = statements
      statements = []
      return all
    },
  }
}
