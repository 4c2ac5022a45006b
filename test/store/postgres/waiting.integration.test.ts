/** What commands do about rows, and tables, that another connection holds. */
import { setTimeout } from 'node:timers/promises'
import { Client } from 'pg'
import t, { type Test } from 'tap'
import { USUAL } from '../../../src/store/postgres/pool.ts'
import { postgresMissing, queryPostgres } from '../../kit/postgres.ts'
import { newVaultDatabase } from '../../kit/test-store.ts'
import { aToken, NOW } from '../kit.ts'
import { aServer, aStore } from './kit.ts'

t.test('concurrent connections', { skip: postgresMissing() }, async (t) => {
  const server = await aServer(t)
  const address = await newVaultDatabase(server)
  const store = await aStore(t, address)
  const admin = new URL(server.admin)
  admin.pathname = new URL(address).pathname

  /** An open transaction of another connection that has run `statement`. */
  const holding = async (t: Test, statement: string): Promise<Client> => {
    const client = new Client({ connectionString: admin.href })
    await client.connect()
    t.teardown(() => client.end())
    await client.query('begin')
    await client.query(statement)
    return client
  }
  /** Runs `last` and commits for `holder` when `work` waits for it. */
  const waitsFor = async <T>(holder: Client, work: Promise<T>, last = ''): Promise<T> => {
    const waiting = `select 1 from pg_stat_activity
      where datname = current_database() and application_name = 'sidevault' and wait_event_type = 'Lock'`
    let over = false
    const ended = () => {
      over = true
    }
    work.then(ended, ended)
    while (!over && (await queryPostgres(admin.href, waiting)).length === 0) await setTimeout(10)
    await holder.query(last)
    await holder.query('commit')
    return work
  }

  await t.test(
    'a deletion concurrent with a change is applied after it, and is not a conflict',
    async (t) => {
      const shape = { name: 'things', indexes: [], lookups: [] }
      const at = { collection: 'things', tenantId: 'tenant-a', id: 'contended', shape }
      await store.records.commit([{ ...at, kind: 'insert', record: {} }], NOW)
      const holder = await holding(t, "update records set version = version + 1 where id = 'contended'")
      await waitsFor(holder, store.records.commit([{ ...at, kind: 'delete' }], NOW))
      t.equal(await store.records.get('things', 'tenant-a', 'contended'), undefined)
    },
  )

  await t.test('a deleted tenant whose rows are locked does not stop the purge of others', async (t) => {
    const postgres = { ...USUAL, connections: 2, lockMs: 50 }
    const brief = await aStore(t, address, { mode: 'join', postgres })
    const created = { owner_id: 'o', name: 'n', settings: {}, created_by: null, created_at: NOW }
    for (const id of ['locked', 'unlocked']) {
      await store.tenants.create({ ...created, id, modified_by: null, modified_at: null }, [])
      await store.tokens.create([aToken({ tenant_id: id })], NOW)
      await store.tenants.delete(id, NOW)
    }
    const holder = await holding(t, "select from tokens where tenant_id = 'locked' for update")
    await t.rejects(brief.tenantPurge.purge(NOW, 10), { code: 'overloaded' })
    await holder.query('commit')
    const left = async (id: string) => (await store.sealed.tokens(id, 0, 10)).length
    t.strictSame([await left('locked'), await left('unlocked')], [1, 0])
    await store.tenantPurge.purge(NOW, 10)
    t.equal(await left('locked'), 0)
  })

  await t.test('the id of an expired token is free while the purge removes it', async (t) => {
    await store.tokens.create([aToken({ id: 'free', expires_at: NOW - 1 })], NOW - 10)
    const holder = await holding(t, "select from tokens where id = 'free' for update")
    const creating = store.tokens.create([aToken({ id: 'free' })], NOW)
    t.match(await waitsFor(holder, creating, "delete from tokens where id = 'free'"), [{ kind: 'created' }])
    await t.rejects(store.tokens.create([aToken({ id: 'free' })], NOW), { code: 'conflict' })
    await store.tokens.delete('tenant-a', 'free', NOW)
  })

  await t.test('an idempotency key that has expired is free while the purge removes it', async (t) => {
    const lease = { tenantId: 'tenant-a', operation: 'O', key: Buffer.from('free'), expiresAt: NOW + 9 }
    const begin = (holder: string, runningUntil: number) =>
      store.idempotency.begin({ ...lease, holder, runningUntil }, NOW)
    await begin('first', NOW - 1)
    const holder = await holding(t, `delete from idempotency_keys where expires_at < ${NOW}`)
    t.match(await waitsFor(holder, begin('second', NOW + 1)), { kind: 'started' })
    const extended = await holding(t, `update idempotency_keys set expires_at = ${NOW + 1_000}`)
    t.match(
      await waitsFor(
        extended,
        store.idempotency.begin({ ...lease, holder: 'third', runningUntil: NOW + 9 }, NOW + 2),
      ),
      { kind: 'running' },
    )
    await queryPostgres(admin.href, 'delete from idempotency_keys')
  })

  t.test('an ephemeral member added while the purge waited stays', async (t) => {
    const token = aToken({ id: 'e', ephemeral: Buffer.from('old'), ephemeral_until: NOW - 1 })
    await store.tokens.create([token], NOW - 10)
    const holder = await holding(t, `update tokens set ephemeral = 'new', ephemeral_until = ${NOW + 1_000}`)
    await waitsFor(holder, store.tokens.purge(NOW, 10))
    const [read] = await store.tokens.read('tenant-a', ['e'], NOW)
    t.equal(read?.ephemeral?.toString(), 'new')
  })

  t.test('a record whose expiry was extended while the purge waited stays', async (t) => {
    const record = { ends: NOW - 1 }
    const shape = { name: 'things', indexes: [], lookups: [], expires: 'ends' }
    const row = { collection: 'things', tenantId: 'tenant-a', id: '1', record, shape }
    await store.records.commit([{ kind: 'insert', ...row }], NOW - 10)
    const holder = await holding(
      t,
      `update records set expires_at = ${NOW + 1_000} where expires_at < ${NOW}`,
    )
    t.equal(await waitsFor(holder, store.tenantPurge.purge(NOW, 10)), 0)
  })

  t.test('a response that was stored and replayed while the purge waited stays', async (t) => {
    const response = { tenantId: 'tenant-a', key: Buffer.from('key'), holder: 'h', expiresAt: NOW - 1 }
    await store.idempotency.begin({ ...response, operation: 'O', runningUntil: NOW - 1 }, NOW - 10)
    const retained = await holding(
      t,
      `update idempotency_keys set sealed = 'done', shown = 'whole', shown_until = ${NOW - 1}, expires_at = ${NOW + 1_000}`,
    )
    t.equal(await waitsFor(retained, store.tenantPurge.purge(NOW - 1, 10)), 1, 'what was shown is due')
    await queryPostgres(admin.href, `update idempotency_keys set shown = 'x', shown_until = ${NOW - 1}`)
    const shown = await holding(t, `update idempotency_keys set shown_until = ${NOW + 1_000}`)
    t.equal(await waitsFor(shown, store.tenantPurge.purge(NOW, 10)), 0)
    t.match(
      await store.idempotency.begin(
        { ...response, operation: 'O', holder: 'other', runningUntil: NOW + 1 },
        NOW,
      ),
      { kind: 'done' },
    )
  })
})
