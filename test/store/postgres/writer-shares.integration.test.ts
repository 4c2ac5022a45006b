/** Writes of one tenant that wait leave connections to other tenants and to the service. */
import { Client } from 'pg'
import t, { type Test } from 'tap'
import { postgresMissing } from '../../kit/postgres.ts'
import { newVaultDatabase } from '../../kit/test-store.ts'
import { aLog, aToken, NOW } from '../kit.ts'
import { aServer, aStore } from './kit.ts'

t.test('writers of PostgreSQL', { skip: postgresMissing() }, async (t) => {
  const address = await newVaultDatabase(await aServer(t))
  const store = await aStore(t, address)
  const key = Buffer.from('contended')
  const lease = { operation: 'O', holder: 'h', runningUntil: NOW + 9, expiresAt: NOW + 9 }
  const begin = (tenantId: string) => store.idempotency.begin({ ...lease, tenantId, key }, NOW)

  /** Locks what `begin('tenant-a')` and creates of deduplicated tokens of "tenant-a" wait for. */
  const holding = async (t: Test): Promise<Client> => {
    const client = new Client({ connectionString: address })
    await client.connect()
    t.teardown(() => client.end())
    await client.query('begin')
    for (const name of [
      `idempotency tenant-a ${key.toString('hex')}`,
      'fingerprint tenant-a same /pci/high/',
    ])
      await client.query("select pg_advisory_xact_lock(hashtextextended('sidevault ' || $1, 0))", [name])
    return client
  }
  const othersWrite = async (): Promise<void> => {
    await Promise.all([
      store.tokens.create([aToken({ tenant_id: 'tenant-b' })], NOW),
      begin('tenant-b'),
      store.logs.ingest([aLog(1)]),
      store.health(),
    ])
  }
  await othersWrite()

  for (const [name, write] of [
    ['creates', () => store.tokens.create([aToken({ fingerprint: 'same', deduplicate: true })], NOW)],
    ['other commands', () => begin('tenant-a')],
  ] as const)
    await t.test(`${name} of one tenant that wait for a lock leave connections to others`, async (t) => {
      const holder = await holding(t)
      let ended = 0
      const writes = Array.from({ length: 12 }, () => write().finally(() => ended++))
      await othersWrite()
      t.equal(ended, 0)
      await holder.query('commit')
      await Promise.all(writes)
    })

  await t.test('bulk creates of one tenant leave a lane to others', async (t) => {
    let ended = 0
    const bulk = Array.from({ length: 6 }, () =>
      store.tokens
        .create(
          Array.from({ length: 5_000 }, () => aToken()),
          NOW,
        )
        .finally(() => ended++),
    )
    await othersWrite()
    t.ok(ended < 3, 'most are still waiting')
    await Promise.all(bulk)
  })

  await t.test('a read or write of a closed store was not made, and is "overloaded"', async (t) => {
    const other = await aStore(t, address)
    await other.close()
    const closed = { code: 'overloaded', uncertain: false }
    await t.rejects(other.tokens.create([aToken({ id: 'late' })], NOW), closed)
    await t.rejects(async () => other.tokens.read('tenant-a', ['late'], NOW), closed)
  })
})
