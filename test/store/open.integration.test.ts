import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { storeContract } from '../contract/store-contract.ts'
import { storeInThread } from '../kit/store-in-thread.ts'
import { silent } from './kit.ts'

let made = 0

const open = async (t: Test): Promise<Store> => {
  const { store } = storeInThread(join(t.testdir({}), `${++made}.db`))
  t.teardown(() => store.close())
  return store
}

t.test('SQLite satisfies the store contract', (t) => storeContract(t, open))

t.test('an address of an unsupported engine is rejected, without its password', async (t) => {
  const error = await openStore({
    location: 'mysql://user:hunter2@db/vault',
    mode: 'read-write',
    log: silent,
  }).catch((thrown: unknown) => thrown)
  t.match(error, { code: 'invalid' })
  t.notMatch(String(error), /hunter2|user/)
})
