import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sidevault } from '../commands/run.ts'
import { postgresMissing, queryPostgres, startPostgres } from '../kit/postgres.ts'
import { type Sidevault, startSidevault } from '../kit/sidevault.ts'
import { until } from '../supervisor/processes.ts'

const CARD = {
  type: 'card',
  data: { number: '4111111111111111', expiration_month: 12, expiration_year: 2030 },
}

t.test('complete services over one PostgreSQL', { skip: postgresMissing({ own: true }) }, async (t) => {
  const server = await startPostgres({ own: true, durable: true })
  t.teardown(() => server.close())
  const store = await server.database()
  const ROOT_KEY = randomBytes(32).toString('base64')
  const env = { SIDEVAULT_STORE: store, SIDEVAULT_ROOT_KEY: 'env:ROOT_KEY', ROOT_KEY }
  const [one, two] = (await Promise.all(
    [t.testdir({ one: {}, two: {} })].flatMap((root) =>
      ['one', 'two'].map((name) => startSidevault({ env, dataDir: join(root, name) })),
    ),
  )) as [Sidevault, Sidevault]
  t.teardown(() => Promise.all([one.stop(), two.stop()]))

  const key = await one.application({ permissions: ['token:create', 'token:read'] })

  t.test('start concurrently on an empty database and create one tenant', async (t) => {
    const names = await queryPostgres<{ name: string }>(
      server.admin.replace(/postgres$/, new URL(store).pathname.slice(1)),
      'select name from tenants',
    )
    t.strictSame(names, [{ name: 'First tenant' }])
    for (const { dataDir } of [one, two]) t.notOk(readdirSync(dataDir).includes('sidevault.db'))
  })

  t.test('read what another has stored, and show it in their logs', async (t) => {
    const created = await one.call('POST', '/tokens', { key, body: CARD })
    t.equal(created.status, 201, created.text)
    const read = await two.call('GET', `/tokens/${created.json.id}`, { key })
    t.match(read, { status: 200, json: { id: created.json.id, type: 'card' } })
    await until('the records of both are in the logs', async () => {
      const { json } = await two.call('GET', `/logs?entity_id=${created.json.id}`, { key: two.managementKey })
      return json.data?.length === 2
    })
  })

  t.test('verify the journals of their own', async (t) => {
    const verified = await sidevault(two.dataDir, ['audit', 'verify'], {
      ...env,
      SIDEVAULT_DATA_DIR: two.dataDir,
    })
    t.match(verified, { code: 0, text: /ok {6}admin-[0-9a-f]{12}/ })
  })

  t.test('do not start with another root key', async (t) => {
    const other = { ...env, ROOT_KEY: randomBytes(32).toString('base64') }
    await t.rejects(startSidevault({ env: other, dataDir: t.testdir() }), /root key does not match the store/)
  })

  t.test('print the database address nowhere', async (t) => {
    for (const { stdout, stderr } of [one, two]) t.notMatch(stdout() + stderr(), /sidevault_test/)
  })

  t.test('are not ready and reject calls while the database is down, and recover with it', async (t) => {
    const created = await one.call('POST', '/tokens', { key, body: CARD })
    await server.kill()
    const rejected = await one.call('POST', '/tokens', { key, body: CARD })
    t.ok([503, 504].includes(rejected.status), rejected.text)
    t.match(await one.call('GET', '/readyz'), { status: 503, text: /store/ })
    await server.start()
    for (const program of [one, two]) {
      await until('it is ready again', async () => (await program.call('GET', '/readyz')).status === 200)
      const read = await program.call('GET', `/tokens/${created.json.id}`, { key })
      t.equal(read.status, 200, 'an acknowledged write is there')
    }
  })
})
