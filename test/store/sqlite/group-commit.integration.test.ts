import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { createGroupCommit } from '../../../src/store/sqlite/group-commit.ts'
import { migrate } from '../../../src/store/sqlite/migrate.ts'
import type { Job } from '../../../src/store/sqlite/protocol.ts'
import { aLog, aToken, NOW } from '../kit.ts'

const setUp = (t: Test) => {
  const ran: string[] = []
  const db = new Database(join(t.testdir({}), 'a.db'), { verbose: (sql) => ran.push(String(sql)) })
  t.teardown(() => db.close())
  db.pragma('journal_mode = WAL')
  migrate(db, NOW)
  const count = () => db.prepare('select count(*) from tokens').pluck().get()
  /** Calls that are sent during maintenance. */
  const late: Job[] = []
  return { db, ran, count, late, commit: createGroupCommit(db, () => late.splice(0)) }
}

const create = (number: number, ...ids: string[]): Job => ({
  number,
  command: 'tokens.create',
  args: { tokens: ids.map((id) => aToken({ id, terms: [Buffer.from(id)] })), now: NOW },
})

const touch = (number: number, collection: string): Job => ({
  number,
  command: 'records.commit',
  args: {
    mutations: [
      {
        kind: 'insert',
        collection,
        tenantId: 'a',
        id: 'r',
        record: {},
        shape: { name: collection, indexes: [], lookups: [] },
      },
    ],
    now: NOW,
  },
})

t.test('jobs that wait together share one commit', async (t) => {
  const { ran, commit, count } = setUp(t)
  ran.length = 0
  const responses = await commit(Array.from({ length: 50 }, (_, n) => create(n, `id-${n}`)))
  t.strictSame(
    responses.map(({ number, ok }) => [number, ok]),
    Array.from({ length: 50 }, (_, n) => [n, true]),
  )
  t.equal(ran.filter((sql) => sql === 'begin immediate').length, 1)
  t.equal(ran.filter((sql) => sql === 'commit').length, 1)
  t.notOk(
    ran.some((sql) => sql.startsWith('savepoint')),
    'none fails, so none needs a way back',
  )
  t.equal(count(), 50)
})

t.test('creates that wait together write their counts once, exactly', async (t) => {
  const { db, ran, commit } = setUp(t)
  await commit([create(0, 'before')])
  ran.length = 0
  const group = [create(1, 'a', 'b'), create(2, 'c'), create(3, 'd'), touch(4, 'apart'), create(5, 'e')]
  await commit(group)
  const writes = (table: string) => ran.filter((sql) => sql.startsWith(`insert into "${table}"`)).length
  t.equal(writes('tokens'), 5)
  t.equal(writes('token_counts'), 2, 'before another command runs, and at the end')
  const sum = (sql: string) => db.prepare(sql).pluck().get()
  t.equal(sum('select sum(count) from token_counts'), 6)
})

t.test('a call that comes during an ingest ends it early, and shares its commit', async (t) => {
  const { db, ran, commit, count, late } = setUp(t)
  const rows = Array.from({ length: 100 }, (_, seq) =>
    aLog(seq + 1, { hash: `line ${Math.floor(seq / 25)}` }),
  )
  const ingest = (number: number, at: number): Job => ({
    number,
    command: 'logs.ingest',
    args: { rows: rows.slice(at) },
  })
  late.push(create(2, 'a'))
  ran.length = 0
  t.match(await commit([ingest(1, 0)]), [
    { number: 1, ok: true, value: { rows: 25 } },
    { number: 2, ok: true },
  ])
  t.equal(ran.filter((sql) => sql === 'commit').length, 1)
  t.match(await commit([ingest(3, 25)]), [{ number: 3, ok: true, value: { rows: 75 } }])
  t.equal(count(), 1)
  t.strictSame(db.prepare('select seq, hash from journal_positions').all(), [{ seq: 100, hash: 'line 3' }])
  t.equal(db.prepare('select count(*) from logs').pluck().get(), 100)
})

t.test('one that fails there leaves the ingest and the others', async (t) => {
  const { db, commit, count, late } = setUp(t)
  late.push(create(2, 'a', 'a'), create(3, 'b'))
  t.match(await commit([{ number: 1, command: 'logs.ingest', args: { rows: [aLog(1)] } }]), [
    { number: 1, ok: true, value: { rows: 1 } },
    { number: 2, ok: false, error: { code: 'conflict' } },
    { number: 3, ok: true },
  ])
  t.equal(count(), 1)
  t.equal(db.prepare('select count(*) from logs').pluck().get(), 1)
})

t.test('a create under a lost lease fails alone in its group', async (t) => {
  const { commit, count } = setUp(t)
  const right = { tenantId: 'tenant-a', key: Buffer.from('k'), holder: 'gone', expiresAt: NOW + 1 }
  const responses = await commit([create(1, 'a'), { ...create(2, 'b'), lease: right }, create(3, 'c')])
  t.match(responses, [{ ok: true }, { ok: false, error: { code: 'conflict' } }, { ok: true }])
  t.equal(count(), 2)
})

t.test('a failed job rolls back only its own writes', async (t) => {
  const { db, commit } = setUp(t)
  const responses = await commit([create(1, 'a'), create(2, 'b', 'c', 'a'), create(3, 'd')])
  t.match(responses, [
    { number: 1, ok: true },
    { number: 2, ok: false, error: { code: 'conflict' } },
    { number: 3, ok: true },
  ])
  t.strictSame(db.prepare('select id from tokens order by id').pluck().all(), ['a', 'd'])
  t.equal(db.prepare('select count(*) from token_terms').pluck().get(), 2)
  t.equal(db.prepare('select count from token_counts').pluck().get(), 2)
})

t.test('a failed commit fails all its jobs, and the next group succeeds', async (t) => {
  const { db, commit, count } = setUp(t)
  // A foreign key that is looked at by the commit only.
  db.exec('create table late (seq integer references tokens (seq) deferrable initially deferred)')
  db.exec(
    "create trigger poison after insert on changes when new.kind = 'poison' begin insert into late values (-1); end",
  )
  const responses = await commit([create(1, 'a'), touch(2, 'poison'), create(3, 'b')])
  t.match(responses, [
    { number: 1, ok: false, error: { code: 'internal' } },
    { number: 2, ok: false, error: { code: 'internal' } },
    { number: 3, ok: false, error: { code: 'internal' } },
  ])
  t.equal(count(), 0)
  t.match(await commit([create(4, 'a'), touch(5, 'fine')]), [{ ok: true }, { ok: true }])
  t.equal(count(), 1)
})

t.test('on a full disk only the jobs that did not fit fail, with a clear error', async (t) => {
  const { db, commit, count } = setUp(t)
  await commit([create(1, 'a')])
  db.pragma(`max_page_count = ${db.pragma('page_count', { simple: true })}`)
  const big: Job = {
    number: 2,
    command: 'tokens.create',
    args: { tokens: [aToken({ sealed: Buffer.alloc(100_000) })], now: NOW },
  }
  const [response] = await commit([big])
  t.match(response, { ok: false, error: { code: 'overloaded', cause: { code: 'SQLITE_FULL' } } })
  t.notMatch(JSON.stringify(response), /insert into|values \(/i)
  t.equal(count(), 1)
  db.pragma('max_page_count = 1000000')
  t.match(await commit([big]), [{ ok: true }])
})

t.test('jobs are rejected, not lost, while another process holds the write lock too long', async (t) => {
  const { db, commit } = setUp(t)
  db.pragma('busy_timeout = 1')
  const other = new Database(db.name)
  t.teardown(() => other.close())
  other.exec('begin immediate')
  t.match(await commit([create(1, 'a')]), [{ ok: false, error: { code: 'overloaded', retryAfter: 1 } }])
  other.exec('rollback')
  t.match(await commit([create(1, 'a')]), [{ ok: true }])
})
