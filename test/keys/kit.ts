import { join } from 'node:path'
import type { KeyRow } from '../../src/store/keys/types.ts'
import type { Store } from '../../src/store/store.ts'
import { storeInThread } from '../kit/store-in-thread.ts'

/** Members of a tap test that a kit needs. */
export interface Test {
  testdir(): string
  teardown(handler: () => Promise<void>): void
}

/** A fresh SQLite store that lives as long as the test. */
export const openTestStore = async (t: Test): Promise<Store> => {
  const location = join(t.testdir(), 'vault.db')
  const { store } = storeInThread(location)
  t.teardown(() => store.close())
  return store
}

export const addTenant = (store: Store, id: string, keys: readonly KeyRow[]): Promise<void> =>
  store.tenants.create(
    {
      id,
      owner_id: 'owner-1',
      name: 'A tenant',
      settings: {},
      created_by: null,
      created_at: 0,
      modified_by: null,
      modified_at: null,
    },
    keys,
  )
