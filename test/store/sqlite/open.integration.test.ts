import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { migrations } from '../../../src/store/migrations/index.ts'
import { openStore } from '../../../src/store/open.ts'
import type { Store } from '../../../src/store/store.ts'
import { aToken, NOW, silent } from '../kit.ts'

const CHILD = fileURLToPath(new URL('./opens.ts', import.meta.url))

const child = async (location: string, task: 'read' | 'commit') => {
  const { stdout } = await promisify(execFile)(process.execPath, [CHILD, location, task])
  return JSON.parse(stdout) as { ok: boolean; total?: number; message?: string }
}

const path = (t: Test) => join(t.testdir({}), 'a.db')

const open = async (
  t: Test,
  location: string,
  mode: 'read-write' | 'join' | 'read-only' = 'read-write',
  timeout?: number,
): Promise<Store> => {
  const store = await openStore({
    location,
    mode,
    log: silent,
    ...(timeout === undefined ? {} : { timeout }),
  })
  t.teardown(() => store.close())
  return store
}

const rejection = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )

t.test('concurrent starts all open the store, and the schema is created once', async (t) => {
  const location = path(t)
  const [stores, ...responses] = await Promise.all([
    Promise.all(Array.from({ length: 4 }, () => open(t, location, 'read-write', 120_000))),
    child(location, 'commit'),
    child(location, 'commit'),
    child(location, 'read'),
  ])
  for (const response of responses) t.match(response, { ok: true })
  t.equal((await stores[0]?.records.find('things', 'tenant-a', {}))?.total, 2)
  const db = new Database(location, { readonly: true })
  t.strictSame(
    db.prepare('select version, name from schema_migrations').all(),
    migrations.map(({ version, name }) => ({ version, name })),
  )
  db.close()
})

t.test('a start waits for another one up to its own timeout, not that of a statement', async (t) => {
  const location = path(t)
  const other = new Database(location)
  t.teardown(() => other.close())
  other.pragma('journal_mode = WAL')
  other.exec('begin immediate')
  const waiting = open(t, location, 'read-write', 120_000)
  setImmediate(() => other.exec('rollback')) // the first try is over by then
  await t.resolves(waiting)
})

t.test(
  'a commit of another process is visible to the next read, and increments the change counter',
  async (t) => {
    const location = path(t)
    const [store, reader] = [await open(t, location), await open(t, location, 'read-only')]
    const changes = async () => [
      await store.records.changes(['things']),
      await reader.records.changes(['things']),
    ]
    const [before] = await changes()
    await child(location, 'commit')
    const after = await changes()
    t.not(after[0], before)
    t.equal(after[0], after[1])
    t.equal((await reader.records.find('things', 'tenant-a', {})).total, 1)
    t.match(await child(location, 'read'), { ok: true, total: 1 })
    await store.tokens.create([aToken({ id: 'new' })], NOW)
    t.equal((await reader.tokens.read('tenant-a', ['new'], NOW)).length, 1, 'in the same turn')
  },
)

t.test('a read-only store rejects every write and names the writer', async (t) => {
  const location = path(t)
  await open(t, location)
  const reader = await open(t, location, 'read-only')
  await reader.health()
  const shape = { name: 'things', indexes: [], lookups: [] }
  const change = { kind: 'insert', collection: 'things', tenantId: 'a', id: 'a', record: {}, shape } as const
  for (const write of [
    () => reader.tokens.create([aToken()], NOW),
    () => reader.tokens.delete('tenant-a', 'x', NOW),
    () => reader.tokens.purge(NOW, 1),
    () => reader.records.commit([change], NOW),
    () => reader.keys.add([]),
  ])
    t.match(await rejection(write()), { code: 'internal' })
})

t.test('a joined store reads at once, and writes beside the existing one', async (t) => {
  const location = path(t)
  const waiting = open(t, location, 'join')
  const store = await open(t, location)
  const joined = await waiting
  await joined.health()
  await Promise.all([
    joined.tokens.create([aToken({ id: 'joined' })], NOW),
    joined.tokens.create([aToken({ id: 'joined too' })], NOW),
    store.tokens.create([aToken({ id: 'own' })], NOW),
  ])
  const ids = ['joined', 'joined too', 'own']
  for (const each of [store, joined]) t.equal((await each.tokens.read('tenant-a', ids, NOW)).length, 3)
  t.match(
    await rejection(open(t, `${location}-none`, 'join', 30)),
    { code: 'gateway_timeout' },
    'it makes no schema',
  )
})

t.test('a joined store that never wrote closes', async (t) => {
  const location = path(t)
  await open(t, location)
  const joined = await open(t, location, 'join')
  await t.resolves(joined.close())
})

t.test('a reader that starts first waits for the schema, and times out with a fix', async (t) => {
  const location = path(t)
  const waiting = open(t, location, 'read-only')
  const store = await open(t, location)
  await store.tokens.create([aToken({ id: 'x' })], NOW)
  t.equal((await (await waiting).tokens.read('tenant-a', ['x'], NOW)).length, 1)
  t.match(await rejection(open(t, `${location}-none`, 'read-only', 30)), {
    code: 'gateway_timeout',
    message: /Start the admin role/,
  })
})

t.test('a reader opens the files that a writer left', async (t) => {
  const location = path(t)
  const store = await openStore({ location, mode: 'read-write', log: silent })
  await store.tokens.create([aToken({ id: 'x' })], NOW)
  await store.close()
  const reader = await open(t, location, 'read-only')
  t.equal((await reader.tokens.read('tenant-a', ['x'], NOW)).length, 1)
})

t.test('a schema newer than this program is rejected in both modes, and stays unchanged', async (t) => {
  const location = path(t)
  await (await openStore({ location, mode: 'read-write', log: silent })).close()
  const db = new Database(location)
  db.exec("insert into schema_migrations values (999, 'future', 0)")
  db.close()
  for (const mode of ['read-write', 'read-only'] as const)
    t.match(await rejection(open(t, location, mode)), {
      code: 'invalid',
      message: /newer Sidevault.*restore/,
    })
})

t.test('a schema of before the first release is rejected in both modes', async (t) => {
  const location = path(t)
  await (await openStore({ location, mode: 'read-write', log: silent })).close()
  const db = new Database(location)
  db.exec('delete from schema_migrations where version > 1')
  db.close()
  for (const mode of ['read-write', 'read-only'] as const)
    t.match(await rejection(open(t, location, mode)), { code: 'invalid', message: /0\.1\.0.*cannot read/ })
})

t.test('a foreign file is rejected with a clear error, and stays unchanged', async (t) => {
  const location = path(t)
  writeFileSync(location, 'not a database, though long enough to hold a header '.repeat(40))
  t.match(await rejection(open(t, location)), { code: 'invalid', message: /not a valid SQLite database/ })

  const foreign = `${location}-foreign`
  const db = new Database(foreign)
  db.exec('create table tokens (mine integer)')
  db.close()
  t.match(await rejection(open(t, foreign)), { code: 'invalid', message: /another program/ })

  t.match(await rejection(open(t, join(location, 'no', 'such.db'))), {
    code: 'gateway_timeout',
    message: /directory/,
  })
  t.match(await rejection(open(t, t.testdirName)), { code: 'gateway_timeout' }, 'a directory')
  t.match(await rejection(open(t, ':memory:')), { code: 'invalid' })
})
