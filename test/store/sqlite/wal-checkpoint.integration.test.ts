import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { openStore } from '../../../src/store/open.ts'
import type { Store } from '../../../src/store/store.ts'
import { addTenant } from '../../keys/kit.ts'
import { until } from '../../kit/until.ts'
import { aToken, NOW, silent } from '../kit.ts'

const WRAPPED = Buffer.from('a wrapped data key, 32 bytes and more, unlike anything else')

const open = async (t: Test, location: string): Promise<Store> => {
  const store = await openStore({ location, mode: 'read-write', log: silent })
  t.teardown(() => store.close())
  return store
}

/** Files of the database that hold the wrapped key. */
const holding = (location: string): readonly string[] =>
  ['', '-wal'].filter((suffix) => readFileSync(location + suffix).includes(WRAPPED))

const addDoomed = async (store: Store) => {
  await store.tokens.create([aToken()], NOW)
  await addTenant(store, 'doomed', [
    { tenant_id: 'doomed', purpose: 'data', version: 1, wrapped: WRAPPED, created_at: NOW },
  ])
}

/** Another process in the middle of reading: what it sees has to stay. */
const reader = (t: Test, location: string) => {
  const db = new Database(location, { readonly: true })
  t.teardown(() => db.close())
  const rows = db.prepare('select * from tokens').iterate()
  rows.next()
  return { db, end: () => rows.return?.() }
}

t.test("a deleted tenant's wrapped key is in no file of the store when the deletion returns", async (t) => {
  const location = join(t.testdir({}), 'a.db')
  const store = await open(t, location)
  await addDoomed(store)
  const other = new Database(location)
  other.pragma('wal_checkpoint(PASSIVE)')
  other.close()
  t.strictSame(holding(location), ['', '-wal'])
  t.equal(await store.tenants.delete('doomed', NOW), true)
  t.strictSame(holding(location), [])
})

t.test(
  'a reader delays the checkpoint only while it reads, and neither the response nor writes',
  async (t) => {
    const location = join(t.testdir({}), 'a.db')
    const store = await open(t, location)
    await addDoomed(store)
    const { end } = reader(t, location)
    t.equal(await store.tenants.delete('doomed', NOW), true)
    t.ok(holding(location).length > 0)
    await store.tokens.create([aToken()], NOW)
    end()
    await until('the key left the log', () => holding(location).length === 0)
    t.strictSame(holding(location), [])
    await store.tokens.create([aToken()], NOW)
  },
)

t.test('log content left by a killed process is gone after the next start', async (t) => {
  const location = join(t.testdir({}), 'a.db')
  const store = await open(t, location)
  await addDoomed(store)
  const { end } = reader(t, location)
  await store.tenants.delete('doomed', NOW)
  // The files as a power cut would leave them.
  const copy = join(dirname(location), 'copy', 'a.db')
  mkdirSync(dirname(copy))
  for (const suffix of ['', '-wal']) copyFileSync(location + suffix, copy + suffix)
  end()
  t.ok(holding(copy).length > 0)
  // A gateway that is still there keeps the log from being removed by the last process that closes it.
  const { db, end: read } = reader(t, copy)
  read()
  await open(t, copy)
  await until('the log is empty', () => statSync(`${copy}-wal`).size === 0)
  t.strictSame(holding(copy), [])
  t.equal(db.prepare('select count(*) from tokens').pluck().get(), 1)
})

t.test('pages are copied into the database file while the log is far from its limit', async (t) => {
  const location = join(t.testdir({}), 'a.db')
  const store = await open(t, location)
  const empty = statSync(location).size
  const create = (count: number) =>
    store.tokens.create(
      Array.from({ length: count }, () => aToken()),
      NOW,
    )
  await create(100)
  t.equal(statSync(location).size, empty, 'a few rows wait in the log')
  await until('the file has the pages of the rows', async () => {
    await create(100)
    return statSync(location).size > empty
  })
  t.ok(statSync(`${location}-wal`).size < 4_000 * 4_096)
})

t.test('acknowledged tokens are readable after a store with a checkpoint thread was closed', async (t) => {
  const location = join(t.testdir({}), 'a.db')
  const store = await openStore({ location, mode: 'read-write', log: silent })
  const ids: string[] = []
  for (let write = 0; write < 20; write++) {
    const tokens = Array.from({ length: 50 }, () => aToken())
    await store.tokens.create(tokens, NOW)
    ids.push(...tokens.map(({ id }) => id))
  }
  await store.close()
  t.notOk(existsSync(`${location}-wal`), 'the last connection has removed the log')
  const again = await open(t, location)
  t.equal((await again.tokens.read('tenant-a', ids, NOW)).length, ids.length)
})
