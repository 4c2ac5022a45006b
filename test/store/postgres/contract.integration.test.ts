import t from 'tap'
import { storeContract } from '../../contract/store-contract.ts'
import { postgresMissing } from '../../kit/postgres.ts'
import { newVaultDatabase } from '../../kit/test-store.ts'
import { aServer, aStore } from './kit.ts'

t.test('PostgreSQL satisfies the store contract', { skip: postgresMissing() }, async (t) => {
  const server = await aServer(t)
  await storeContract(t, async (t) => aStore(t, await newVaultDatabase(server)))
})
