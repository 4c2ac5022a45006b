import type { Test } from 'tap'
import type { Store } from '../../src/store/types.ts'
import { storeLists } from './store-lists.ts'
import { storeRecords } from './store-records.ts'
import { storeRest } from './store-rest.ts'
import { storeTokens } from './store-tokens.ts'

/** Opens an empty store that nobody else uses; it lives until `t` ends. */
export type OpenStore = (t: Test) => Promise<Store>

/** What every engine's store must do. */
export const storeContract = async (t: Test, open: OpenStore): Promise<void> => {
  await t.test('tokens', (t) => storeTokens(t, open))
  await t.test('lists and searches', (t) => storeLists(t, open))
  await t.test('records', (t) => storeRecords(t, open))
  await t.test('tenants, keys, logs, health', (t) => storeRest(t, open))
}
