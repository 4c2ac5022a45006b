import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createChangeCounters, shareChangeCounters } from '../../src/store/change-counters.ts'
import { probeWrite } from '../../src/store/health.ts'
import { openStore } from '../../src/store/open.ts'
import { connect } from '../../src/store/sqlite/connection.ts'
import { createSqliteSession } from '../../src/store/sqlite/session.ts'
import { NOW, silent } from './kit.ts'

const setUp = async (t: Test) => {
  const location = join(t.testdir({}), 'a.db')
  const store = await openStore({ location, mode: 'read-write', log: silent })
  const db = connect(location, { readonly: true })
  t.teardown(async () => {
    db.close()
    await store.close()
  })
  const plain = createSqliteSession(db)
  let reads = 0
  let whole = 0
  const session: typeof plain = {
    ...plain,
    get: (statement, values) => {
      reads++
      return plain.get(statement, values)
    },
    all: (statement, values) => {
      whole++
      return plain.all(statement, values)
    },
  }
  const shape = { name: 'things', indexes: [], lookups: [] }
  let id = 0
  const insert = (collection = 'things') =>
    store.records.commit(
      [{ kind: 'insert', collection, tenantId: 'a', id: String(++id), record: {}, shape }],
      NOW,
    )
  const writer = { write: async () => insert() as never, close: async () => {} }
  return { session, writer, insert, reads: () => reads, whole: () => whole }
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

t.test('counters of several names are summed; missing ones count zero', async (t) => {
  const { session, writer, insert } = await setUp(t)
  const { changes } = shareChangeCounters({ session, writer })
  await insert('things')
  await insert('things')
  await insert('others')
  await nextTurn()
  for (const counters of [changes, createChangeCounters({ session })]) {
    t.equal(await counters.sum([]), 0)
    t.equal(await counters.sum(['nothing']), 0)
    t.equal(await counters.sum(['things']), 2)
    t.equal(await counters.sum(['things', 'nothing', 'others']), 3)
  }
})

t.test('one read serves all callers of a turn, the next turn reads again', async (t) => {
  const { session, writer, insert, reads } = await setUp(t)
  const { changes } = shareChangeCounters({ session, writer })
  t.same(
    await Promise.all([changes.sum(['things']), changes.sum(['things']), changes.sum(['others'])]),
    [0, 0, 0],
  )
  t.equal(await changes.sum(['things']), 0)
  t.equal(reads(), 1)
  await insert()
  t.equal(await changes.sum(['things']), 1)
  t.equal(reads(), 2)
})

t.test('an acknowledged write is visible at once, in the same turn too', async (t) => {
  const { session, insert, reads } = await setUp(t)
  await insert()
  const { changes, writer } = shareChangeCounters({
    session,
    writer: { write: async () => undefined as never, close: async () => {} },
  })
  await nextTurn()
  t.equal(await changes.sum(['things']), 1)
  await writer.write(probeWrite, {})
  t.equal(await changes.sum(['things']), 1)
  t.equal(reads(), 2)
})

t.test('one read serves a callback, and reads more than the total only when that changed', async (t) => {
  const { session, insert, reads, whole } = await setUp(t)
  const changes = createChangeCounters({ session })
  t.equal(await changes.sum(['things']), 0)
  t.equal(await changes.sum(['things']), 0)
  t.same([reads(), whole()], [1, 1])
  await nextTurn()
  t.equal(await changes.sum(['things']), 0)
  t.same([reads(), whole()], [2, 1])
  await insert()
  t.equal(
    await changes.sum(['things']),
    1,
    'a write that is acknowledged in a later callback is seen at once',
  )
  await insert('others')
  t.equal(await changes.sum(['things']), 1)
  t.equal(await changes.sum(['others']), 1)
  t.same([reads(), whole()], [4, 3])
})

t.test('a callback sees every change that was acknowledged before it started', async (t) => {
  const { session, insert } = await setUp(t)
  const changes = createChangeCounters({ session })
  const seen: number[] = []
  const look = () =>
    new Promise<void>((resolve) => {
      setImmediate(async () => {
        seen.push(await changes.sum(['things']))
        resolve()
      })
    })
  for (let round = 0; round < 3; round++) {
    await insert()
    await Promise.all([look(), look()])
  }
  t.same(seen, [1, 1, 2, 2, 3, 3])
})
