import type { Test } from 'tap'
import type { Store } from '../../src/store/store.ts'
import { storeCombined } from './store-combined.ts'
import { storeLists } from './store-lists.ts'
import { storeLogs } from './store-logs.ts'
import { storeRecords } from './store-records.ts'
import { storeResources } from './store-resources.ts'
import { storeRest } from './store-rest.ts'
import { storeSealed } from './store-sealed.ts'
import { storeTasks } from './store-tasks.ts'
import { storeTokens } from './store-tokens.ts'

/** Opens an empty store without other users; it lives until `t` ends. */
export type OpenStore = (t: Test) => Promise<Store>

/** What every engine's store must do. */
export const storeContract = async (t: Test, open: OpenStore): Promise<void> => {
  await t.test('tokens', (t) => storeTokens(t, open))
  await t.test('lists and searches', (t) => storeLists(t, open))
  await t.test('searches that combine conditions', (t) => storeCombined(t, open))
  await t.test('records', (t) => storeRecords(t, open))
  await t.test('logs', (t) => storeLogs(t, open))
  await t.test('associations, usage, idempotency records, purge of deleted tenants', (t) =>
    storeResources(t, open),
  )
  await t.test('tenants, keys, logs, health', (t) => storeRest(t, open))
  await t.test('consumers and jobs', (t) => storeTasks(t, open))
  await t.test('keys under another root key, values under another data key', (t) => storeSealed(t, open))
}
