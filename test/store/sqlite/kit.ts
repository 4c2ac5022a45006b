import type { Connection } from '../../../src/store/sqlite/connection.ts'
import type { Store } from '../../../src/store/store.ts'
import { storeInThread } from '../../kit/store-in-thread.ts'

export interface TracedStore {
  readonly store: Store
  readonly db: Connection
  /** SQL run since the last call, values filled in. */
  readonly applied: () => readonly string[]
}

/** A store in this thread, with every statement noted down. */
export const tracedStore = (path: string): TracedStore => {
  let statements: string[] = []
  const verbose = (sql: unknown) => statements.push(String(sql))
  return {
    ...storeInThread(path, { verbose, durable: true }),
    applied: () => {
      const all = statements
      statements = []
      return all
    },
  }
}
