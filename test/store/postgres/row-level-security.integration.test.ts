import { sql } from 'kysely'
import { Client } from 'pg'
import t from 'tap'
import { openPool, USUAL } from '../../../src/store/postgres/pool.ts'
import { readSession, transactionSession } from '../../../src/store/postgres/session.ts'
import { inTransaction } from '../../../src/store/postgres/transaction.ts'
import { openStatement, statement } from '../../../src/store/statement.ts'
import type { Store } from '../../../src/store/store.ts'
import { tokenById } from '../../../src/store/tokens/statements.ts'
import { postgresMissing, queryPostgres } from '../../kit/postgres.ts'
import { aLog, aToken, NOW, silent } from '../kit.ts'
import { aServer, aStore } from './kit.ts'

/** Every tenant table, with a row of two tenants in each. */
const fill = async (store: Store): Promise<void> => {
  const shape = { name: 'things', indexes: ['color'], lookups: ['code'] }
  for (const tenant_id of ['tenant-a', 'tenant-b']) {
    const key = { tenant_id, purpose: 'data', version: 1, wrapped: Buffer.from('w'), created_at: NOW }
    const tenant = { id: tenant_id, owner_id: 'o', name: 'n', settings: {}, created_by: null }
    const mac = Buffer.from('mac')
    await store.tenants.create({ ...tenant, created_at: NOW, modified_by: null, modified_at: null, mac }, [
      key,
    ])
    const more = { tenant_id, metadata: { k: 'v' }, terms: [Buffer.from('term')], fingerprint: 'print' }
    const [one] = await store.tokens.create([aToken({ ...more, id: 'one' })], NOW)
    const parentSeq = one?.kind === 'created' ? one.seq : 0
    await store.tokens.create([aToken({ ...more, id: 'two', parentSeq })], NOW)
    const record = { color: 'red', code: tenant_id }
    await store.records.commit(
      [{ kind: 'insert', collection: 'things', tenantId: tenant_id, id: '1', record, shape, mac }],
      NOW,
    )
    const seq = tenant_id === 'tenant-a' ? 1 : 2
    await store.logs.ingest([aLog(seq, { tenant_id, operation: 'create', token_seq: parentSeq })])
    const response = { tenantId: tenant_id, key: Buffer.from('key'), holder: 'h', expiresAt: NOW + 1_000 }
    await store.idempotency.begin({ ...response, operation: 'O', runningUntil: NOW + 10 }, NOW)
    const shown = {
      sealed: Buffer.from('shown'),
      tokens: [{ id: 'one', created_at: NOW, version: 1 }],
      until: NOW + 900,
    }
    await store.idempotency.finish({ ...response, sealed: Buffer.from('sealed'), shown }, NOW)
  }
}

t.test('tenant isolation by row-level security in PostgreSQL', { skip: postgresMissing() }, async (t) => {
  const server = await aServer(t)
  const address = await server.database()
  const store = await aStore(t, address)
  await fill(store)
  const pool = openPool({ log: silent }, { address, size: 1, maxWaiting: 8, limits: USUAL })
  t.teardown(() => pool.close())
  const session = readSession(pool, 1)

  const tables = await queryPostgres<{ name: string; column: string; walled: boolean }>(
    address,
    `select t.relname as name, a.attname as column, t.relrowsecurity and t.relforcerowsecurity as walled
      from pg_class t join pg_attribute a on a.attrelid = t.oid
      where t.relkind = 'r' and t.relnamespace = current_schema()::regnamespace
        and (a.attname = 'tenant_id' or (t.relname = 'tenants' and a.attname = 'id')) order by 1`,
  )

  t.test('a search that exceeds its time fails with a hint to the cursor list', async (t) => {
    const limits = { ...USUAL, statementMs: 50 }
    const brief = openPool({ log: silent }, { address, size: 1, maxWaiting: 8, limits })
    t.teardown(() => brief.close())
    const { dialect, search, query } = readSession(brief, 1)
    const slow = dialect.builder.selectNoFrom(sql`pg_sleep(60)`.as('slept'))
    await t.rejects(search(slow, 'tenant-a'), { code: 'invalid' })
    await t.rejects(query(slow, 'tenant-a'), { code: 'overloaded' }, 'what is no search is to be tried again')
  })

  t.test('searches of one tenant leave connections to the reads of others', async (t) => {
    const several = openPool({ log: silent }, { address, size: 4, maxWaiting: 8, limits: USUAL })
    const holder = new Client({ connectionString: address })
    t.teardown(async () => Promise.all([several.close(), holder.end()]))
    await holder.connect()
    await holder.query('select pg_advisory_lock(77)')
    const { dialect, search, query } = readSession(several, 4)
    const waits = dialect.builder.selectNoFrom(sql`pg_advisory_xact_lock(77)`.as('held'))
    let ended = 0
    const searches = Array.from({ length: 6 }, () =>
      search(waits, 'tenant-a').finally(() => {
        ended += 1
      }),
    )
    await query(dialect.builder.selectNoFrom(sql`1`.as('one')), 'tenant-b')
    t.equal(ended, 0)
    await holder.query('select pg_advisory_unlock(77)')
    await Promise.all(searches)
  })

  t.test('covers every table with a tenant column', async (t) => {
    t.ok(tables.length >= 15)
    t.strictSame(
      tables.filter(({ walled }) => !walled),
      [],
    )
  })

  t.test('a statement without our predicate reads rows of its tenant only', async (t) => {
    for (const { name, column } of tables) {
      const without = statement<{ tenant_id: string }, { tenant: string }>(({ builder }) =>
        builder
          .selectFrom(
            sql<{ tenant: string }>`(select ${sql.ref(column)} as tenant from ${sql.table(name)})`.as('all'),
          )
          .select('tenant'),
      )
      const met = await session.all(without, { tenant_id: 'tenant-a' })
      t.ok(met.length > 0, `${name} has rows of the tenant`)
      t.ok(
        met.every(({ tenant }) => tenant === 'tenant-a'),
        name,
      )
      t.strictSame(await session.all(without, { tenant_id: 'tenant-c' }), [], name)
    }
  })

  t.test("lists without our predicate read no other tenant's rows either", async (t) => {
    const all = session.dialect.builder.selectFrom('tokens').select('tenant_id')
    t.strictSame(
      (await session.query(all, 'tenant-b')).map(({ tenant_id }) => tenant_id),
      ['tenant-b', 'tenant-b'],
    )
  })

  t.test('no row is visible without a tenant', async (t) => {
    t.strictSame(await queryPostgres(address, 'select id from tokens'), [])
    const fresh = openPool({ log: silent }, { address, size: 1, maxWaiting: 8, limits: USUAL })
    const unnamed = openStatement<object, { id: string }>(({ builder }) =>
      builder.selectFrom('tokens').select('id'),
    )
    t.strictSame(await readSession(fresh, 1).all(unnamed, {}), [])
    await fresh.close()
  })

  t.test("another tenant's rows are neither written nor changed", async (t) => {
    await t.rejects(
      queryPostgres(address, "insert into token_counts values ('tenant-b', '/x/', 'card', 1, 1)"),
      { code: '42501' },
    )
    const change = statement<{ tenant_id: string }>(({ builder }) =>
      builder.updateTable('tokens').set({ container: '/taken/' }),
    )
    const changed = await pool.use((client) =>
      inTransaction(client, async () => ({
        result: await transactionSession(client, 'tenant').run(change, {
          tenant_id: 'tenant-a',
        }),
      })),
    )
    t.equal(changed, 2)
    t.strictSame(
      (await store.tokens.read('tenant-b', ['one', 'two'], NOW)).map(({ container }) => container),
      ['/pci/high/', '/pci/high/'],
    )
  })

  t.test('the tenant set in a failed transaction is set again for the next', async (t) => {
    const asB = { tenant_id: 'tenant-b', id: 'one', now: NOW }
    t.ok(await session.get(tokenById, asB))
    await t.rejects(
      pool.use((client) =>
        inTransaction(client, async () => {
          await transactionSession(client, 'tenant').get(tokenById, {
            ...asB,
            tenant_id: 'tenant-a',
          })
          throw new Error('no')
        }),
      ),
      { message: 'no' },
    )
    t.equal((await session.get(tokenById, { ...asB, tenant_id: 'tenant-a' }))?.tenant_id, 'tenant-a')
    t.equal((await session.get(tokenById, asB))?.tenant_id, 'tenant-b')
  })

  t.test('a database user that bypasses row-level security is rejected', async (t) => {
    const name = new URL(address).pathname
    const root = new URL(server.admin)
    root.pathname = name
    await t.rejects(aStore(t, root.href), { code: 'invalid', message: /superuser/ })
  })
})
