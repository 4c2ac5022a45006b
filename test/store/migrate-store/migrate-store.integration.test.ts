import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { copyToPostgres } from '../../../src/store/migrate-store/migrate-store.ts'
import { openStore } from '../../../src/store/open.ts'
import { connect } from '../../../src/store/sqlite/connection.ts'
import type { Store } from '../../../src/store/store.ts'
import { postgresMissing, queryPostgres } from '../../kit/postgres.ts'
import { newVaultDatabase } from '../../kit/test-store.ts'
import { aToken, NOW, silent } from '../kit.ts'
import { aServer, aStore } from '../postgres/kit.ts'

const aVault = async (t: Test): Promise<{ store: Store; path: string }> => {
  const path = join(t.testdir({}), 'vault.db')
  const store = await aStore(t, path)
  const tenant = { id: 'tenant-a', owner_id: 'o', name: 'Größe 😀', settings: { a: '1' }, created_by: null }
  const key = {
    tenant_id: 'tenant-a',
    purpose: 'data',
    version: 1,
    wrapped: randomBytes(60),
    created_at: NOW,
  }
  await store.tenants.create({ ...tenant, created_at: NOW, modified_by: null, modified_at: null }, [key])
  const tokens = Array.from({ length: 2_500 }, (_, at) =>
    aToken({
      id: `id-${at}`,
      container: at % 2 ? '/a/' : '/Ä/',
      metadata: { n: String(at % 7) },
      terms: [randomBytes(16)],
      ephemeral: at % 3 ? null : randomBytes(9),
      ephemeral_until: at % 3 ? null : NOW + 1_000,
    }),
  )
  await store.tokens.create(tokens, NOW)
  await store.tokens.create([aToken({ id: 'hidden', egress: { egress_only: true } })], NOW)
  const shape = { name: 'things', indexes: ['color'], lookups: ['code'] }
  const record = { name: 'Name', color: 'red', code: 'c', odd: '\u0000 "' }
  await store.records.commit(
    [{ kind: 'insert', collection: 'things', tenantId: 'tenant-a', id: '1', record, shape }],
    NOW,
  )
  return { store, path }
}

const everything = async (store: Store) => ({
  tenants: await store.tenants.list(),
  isMarked: await store.tenants.hasEgressOnly('tenant-a'),
  keys: await store.keys.keys('tenant-a'),
  tokens: await store.tokens.list({ tenantId: 'tenant-a', now: NOW, visibility: 'all', size: 3_000 }),
  count: await store.tokens.count({
    tenantId: 'tenant-a',
    now: NOW,
    visibility: [[{ attribute: 'container', operator: 'starts_with', value: '/a/' }]],
  }),
  found: await store.tokens.list({
    tenantId: 'tenant-a',
    now: NOW,
    visibility: 'all',
    size: 3_000,
    where: { kind: 'metadata', key: 'n', value: '3' },
  }),
  record: await store.records.lookup('things', 'code', 'c'),
})

t.test('a vault migrates from SQLite to PostgreSQL', { skip: postgresMissing() }, async (t) => {
  const server = await aServer(t)

  t.test('with every row, and continues its sequences', async (t) => {
    const { store, path } = await aVault(t)
    const [last] = await store.tokens.create([aToken({ id: 'last' })], NOW)
    await store.tokens.delete('tenant-a', 'last', NOW)
    const before = await everything(store)
    const to = await server.database()
    const tables: string[] = []
    const rows = await copyToPostgres({ from: path, to, onTable: (name) => tables.push(name) })
    t.ok(rows > 5_000)
    t.ok(tables.includes('tokens') && tables.includes('record_lookups'))
    const moved = await aStore(t, to)
    t.strictSame(await everything(moved), before)
    const [next] = await moved.tokens.create([aToken({ id: 'next' })], NOW)
    t.equal((next as { seq: number }).seq, (last as { seq: number }).seq + 1)
  })

  t.test('and the file rejects writes, of a running service and of a new one', async (t) => {
    const { store, path } = await aVault(t)
    await copyToPostgres({ from: path, to: await newVaultDatabase(server) })
    await t.rejects(store.tokens.create([aToken()], NOW), { code: 'overloaded' })
    await t.rejects(store.tokens.delete('tenant-a', 'id-1', NOW), { code: 'overloaded' })
    t.equal((await store.tokens.read('tenant-a', ['id-1'], NOW)).length, 1, 'it reads on')
    await t.rejects(openStore({ location: path, mode: 'read-write', log: silent }), {
      code: 'invalid',
      message: /SIDEVAULT_STORE/,
    })
  })

  t.test('concurrent writes wait or are rejected, and none is lost', async (t) => {
    const { store, path } = await aVault(t)
    const to = await newVaultDatabase(server)
    const retained: string[] = []
    let over = false
    const writing = (async () => {
      for (let at = 0; !over; at++)
        await store.tokens.create([aToken({ id: `w-${at}` })], NOW).then(
          () => retained.push(`w-${at}`),
          () => {},
        )
    })()
    await copyToPostgres({ from: path, to })
    over = true
    await writing
    const moved = await aStore(t, to)
    t.equal((await moved.tokens.read('tenant-a', retained, NOW)).length, retained.length)
  })

  t.test('a database with a vault is rejected, and nothing changes', async (t) => {
    const { store, path } = await aVault(t)
    const to = await newVaultDatabase(server)
    await (await aStore(t, to)).tokens.create([aToken({ id: 'there' })], NOW)
    await t.rejects(copyToPostgres({ from: path, to }), { code: 'invalid', message: /is not empty/ })
    t.equal((await store.tokens.create([aToken()], NOW)).length, 1)
  })

  t.test('a copy that differs is rolled back', async (t) => {
    const { store, path } = await aVault(t)
    const to = await newVaultDatabase(server)
    const admin = new URL(server.admin)
    admin.pathname = new URL(to).pathname
    await queryPostgres(
      admin.href,
      `create function bend() returns trigger language plpgsql as $$ begin new.created_at := new.created_at + 1; return new; end $$;
        create trigger bend before insert on tokens for each row when (new.id = 'id-77') execute function bend()`,
    )
    await t.rejects(copyToPostgres({ from: path, to }), {
      code: 'internal',
      message: /tokens.*differs/,
    })
    t.strictSame(await queryPostgres(admin.href, 'select id from tokens'), [])
    t.equal((await store.tokens.create([aToken()], NOW)).length, 1)
    const db = connect(path, { readonly: true })
    t.strictSame(db.prepare("select name from sqlite_schema where type = 'trigger'").all(), [])
    db.close()
  })
})
