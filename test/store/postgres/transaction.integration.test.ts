import { setTimeout } from 'node:timers/promises'
import { Client, type ClientBase, DatabaseError } from 'pg'
import t from 'tap'
import { fromPostgres, isLost } from '../../../src/store/postgres/errors.ts'
import { openPool, USUAL } from '../../../src/store/postgres/pool.ts'
import { transactionSession } from '../../../src/store/postgres/session.ts'
import { inTransaction, runInTransaction } from '../../../src/store/postgres/transaction.ts'
import { commitRecords } from '../../../src/store/records/commit.ts'
import { createTokens } from '../../../src/store/tokens/create.ts'
import { postgresMissing, queryPostgres } from '../../kit/postgres.ts'
import { newVaultDatabase } from '../../kit/test-store.ts'
import { aToken, NOW, silent } from '../kit.ts'
import { aServer, aStore } from './kit.ts'

/** A connection with this response to `commit`. */
const clientOf = (commit: () => Promise<unknown>): { client: ClientBase; sent: string[] } => {
  const sent: string[] = []
  const query = async (text: string) => {
    sent.push(text)
    return text === 'commit' ? commit() : { command: text.toUpperCase() }
  }
  return { client: { query } as unknown as ClientBase, sent }
}

t.test('a commit whose response is lost is reported as indeterminate', async (t) => {
  const { client } = clientOf(async () => {
    throw new Error('Connection terminated unexpectedly')
  })
  await t.rejects(
    inTransaction(client, async () => ({ result: 1 })),
    {
      code: 'gateway_timeout',
      message: /may have succeeded/,
      uncertain: true,
    },
  )
})

t.test('a commit that the server turned into a rollback is an error', async (t) => {
  const { client } = clientOf(async () => ({ command: 'ROLLBACK' }))
  await t.rejects(
    inTransaction(client, async () => ({ result: 1 })),
    { message: /rolled back/ },
  )
})

t.test('a commit that the server rejected leaves nothing behind', async (t) => {
  const rejection = Object.assign(new DatabaseError('no', 2, 'error'), { severity: 'ERROR', code: '40001' })
  const { client } = clientOf(async () => {
    throw rejection
  })
  await t.rejects(
    inTransaction(client, async () => ({ result: 1 })),
    rejection,
  )
})

t.test('the error of a rejected last statement is reported, and nothing is left behind', async (t) => {
  const rejection = (severity: string) =>
    Object.assign(new DatabaseError('no', 2, 'error'), { severity, code: '57P01' })
  const lost = new Error('Connection terminated unexpectedly')
  const failing = (last: Error, commit: () => Promise<unknown>) =>
    inTransaction(clientOf(commit).client, async () => ({ result: 1, last: Promise.reject(last) }))
  await t.rejects(
    failing(rejection('ERROR'), async () => ({ command: 'ROLLBACK' })),
    rejection('ERROR'),
  )
  const gone = async () => {
    throw lost
  }
  await t.rejects(failing(rejection('FATAL'), gone), rejection('FATAL'))
  await t.rejects(failing(lost, gone), { code: 'gateway_timeout', uncertain: true })
})

t.test('a failure before the commit is rolled back', async (t) => {
  const { client, sent } = clientOf(async () => ({ command: 'COMMIT' }))
  await t.rejects(
    inTransaction(client, async () => {
      throw new Error('no')
    }),
    { message: 'no' },
  )
  t.match(sent, [/^begin isolation level read committed;/, 'rollback'])
  t.equal(sent.length, 2)
})

t.test('failures are distinguished, and no text of the engine is passed on', (t) => {
  const from = (code: string) =>
    fromPostgres(
      Object.assign(new DatabaseError('secret-value', 2, 'error'), { code, detail: 'secret-value' }),
    )
  for (const [code, ours] of [
    ['23505', 'conflict'],
    ['40P01', 'overloaded'],
    ['53300', 'overloaded'],
    ['57P01', 'overloaded'],
    ['57014', 'overloaded'],
    ['22021', 'invalid'],
    ['42703', 'internal'],
  ] as const) {
    const error = from(code)
    t.equal(error.code, ours, code)
    t.notMatch(JSON.stringify([error.message, String(error.cause)]), /secret-value/)
  }
  for (const [code, message] of [
    ['53100', /disk space/],
    ['53200', /busy/],
    ['53300', /cannot be reached/],
    ['53400', /busy/],
  ] as const)
    t.match(from(code), { code: 'overloaded', message }, code)
  t.ok(isLost(Object.assign(new Error('connect'), { code: 'ECONNREFUSED', syscall: 'connect' })))
  t.ok(isLost(Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })), 'of several addresses')
  t.notOk(isLost(new TypeError('ours')))
  t.notOk(isLost(Object.assign(new TypeError('ours'), { code: 'ERR_INVALID_ARG_TYPE' })))
  t.end()
})

t.test('over a real server', { skip: postgresMissing() }, async (t) => {
  const server = await aServer(t)
  const address = await newVaultDatabase(server)
  const store = await aStore(t, address)
  const admin = new URL(server.admin)
  admin.pathname = new URL(address).pathname

  /** Connections of which every `text` fails on the server. */
  const failing = (text: string) => {
    const pool = openPool({ log: silent }, { address, size: 1, maxWaiting: 10, limits: USUAL })
    t.teardown(() => pool.close())
    const use: typeof pool.use = (work) =>
      pool.use((client) => {
        const query = client.query.bind(client) as (...given: unknown[]) => unknown
        const isFailing = (sent: unknown) => typeof sent === 'string' && sent.startsWith(text)
        Object.assign(client, {
          query: (sent: unknown, ...more: unknown[]) => query(isFailing(sent) ? 'select 1/0' : sent, ...more),
        })
        return work(client)
      })
    return { pool, use }
  }

  t.test('a transaction whose start failed writes nothing', async (t) => {
    const { use } = failing('begin')
    const insert = (id: string) => ({
      ...{ kind: 'insert' as const, collection: 'c', tenantId: 'unstarted', id, record: { id } },
      ...{ shape: { name: 'c', indexes: [], lookups: [] }, mac: Buffer.alloc(5) },
    })
    const mutations = [insert('one'), insert('two')]
    const count = (table: string) =>
      queryPostgres(admin.href, `select from ${table} where tenant_id = 'unstarted'`)
    await t.rejects(
      use((client) => runInTransaction(client, commitRecords, { mutations, now: NOW })),
      { code: '22012' },
    )
    t.strictSame(await count('records'), [])
    const batch = use((client) =>
      inTransaction(client, () => {
        const session = transactionSession(client, 'tenant')
        return createTokens.batch!.run(session, [{ tokens: [aToken({ tenant_id: 'unstarted' })], now: NOW }])
      }),
    )
    await t.rejects(batch, { code: '22012' })
    t.strictSame(await count('tokens'), [])
  })

  t.test('a connection whose rollback failed is not reused', async (t) => {
    const { pool, use } = failing('rollback')
    await t.rejects(
      use((client) => inTransaction(client, () => client.query('select 1/0') as never)),
      { code: '22012' },
    )
    t.match(await pool.use((client) => client.query('select 1 as one')), { rows: [{ one: 1 }] })
  })

  t.test('reads and writes continue after all connections were cut', async (t) => {
    await store.tokens.create([aToken({ id: 'before' })], NOW)
    await queryPostgres(
      admin.href,
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sidevault' and datname = current_database()",
    )
    t.equal((await store.tokens.read('tenant-a', ['before'], NOW)).length, 1)
    t.match(await store.tokens.create([aToken({ id: 'after' })], NOW), [{ kind: 'created' }])
  })

  t.test('of many creates of one fingerprint in several processes one creates the token', async (t) => {
    const other = await aStore(t, address)
    const token = () => aToken({ fingerprint: 'print', deduplicate: true })
    const made = await Promise.all(
      Array.from({ length: 40 }, (_, at) => (at % 2 ? store : other).tokens.create([token()], NOW)),
    )
    t.equal(made.flat().filter(({ kind }) => kind === 'created').length, 1)
  })

  await t.test('a bulk create locks the fingerprints of its tenant with few locks', async (t) => {
    const holder = new Client({ connectionString: admin.href })
    await holder.connect()
    t.teardown(() => holder.end())
    const first = aToken({ id: 'first', tenant_id: 'bulk' })
    await store.tokens.create([first], NOW)
    const token = (n: number) => aToken({ tenant_id: 'bulk', fingerprint: `bulk ${n}`, deduplicate: true })
    const bulk = Array.from({ length: 1_000 }, (_, n) => token(n))
    await holder.query('begin')
    await holder.query("select from token_counts where tenant_id = 'bulk' for update")
    const created = store.tokens.create(bulk, NOW)
    const waiting = async (count: number): Promise<void> => {
      const text = `select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
      while ((await queryPostgres(admin.href, text)).length < count) await setTimeout(10)
    }
    await waiting(1)
    const [locks] = await queryPostgres<{ count: string }>(
      admin.href,
      `select count(*) from pg_locks where locktype = 'advisory'
        and database = (select oid from pg_database where datname = current_database())`,
    )
    t.ok(Number(locks?.count) < 200, `${locks?.count} locks`)
    const single = store.tokens.create([token(7)], NOW)
    await waiting(2)
    await holder.query('commit')
    t.equal((await created).filter(({ kind }) => kind === 'created').length, 1_000)
    t.match(await single, [{ kind: 'duplicate', token: { id: bulk[7]?.id } }])
  })

  t.test('creates written in one batch are counted, searched and rejected one by one', async (t) => {
    const applied = await Promise.allSettled(
      ['x', 'y', 'x', 'z'].map((id) =>
        store.tokens.create([aToken({ id, container: '/many/', metadata: { of: 'many' } })], NOW),
      ),
    )
    t.equal(applied.filter(({ status }) => status === 'rejected').length, 1)
    const query = { tenantId: 'tenant-a', now: NOW, visibility: 'all' } as const
    const where = { kind: 'metadata', key: 'of', value: 'many' } as const
    t.equal((await store.tokens.list({ ...query, where, size: 10 })).length, 3)
    const counted = await queryPostgres(
      admin.href,
      "select count from token_counts where container = '/many/'",
    )
    t.strictSame(counted, [{ count: '3' }])
  })

  t.test('a value that the engine cannot store is rejected, and leaves nothing behind', async (t) => {
    const text = 'a\u0000b'
    await t.rejects(store.tokens.create([aToken({ id: 'nul', metadata: { text } })], NOW), {
      code: 'invalid',
    })
    t.strictSame(await store.tokens.read('tenant-a', ['nul'], NOW), [])
  })
})
