import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { AppError } from '../../../src/common/errors.ts'
import { ingestLogs } from '../../../src/store/logs/ingest.ts'
import { openStore } from '../../../src/store/open.ts'
import { startWriter } from '../../../src/store/sqlite/writer.ts'
import { createTokens } from '../../../src/store/tokens/create.ts'
import type { WriterLimits } from '../../../src/store/writer.ts'
import { aLog, aToken, NOW, silent } from '../kit.ts'

const open = async (t: Test, limits: Partial<WriterLimits> = {}) => {
  const threads: Worker[] = []
  const note = (thread: Worker) => threads.push(thread)
  process.on('worker', note)
  const location = join(t.testdir({}), 'a.db')
  const store = await openStore({ location, mode: 'read-write', log: silent, limits })
  t.teardown(async () => {
    process.off('worker', note)
    await store.close()
  })
  return { store, threads, location }
}

t.test('the queue is limited, in number and in bytes, and rejects with "overloaded"', async (t) => {
  const { store } = await open(t, { maxQueued: 10, maxBytes: 200_000 })
  const settle = async (sealed: Buffer) => {
    const all = await Promise.allSettled(
      Array.from({ length: 30 }, () => store.tokens.create([aToken({ sealed })], NOW)),
    )
    for (const one of all)
      if (one.status === 'rejected') t.match(one.reason, { code: 'overloaded', status: 503, retryAfter: 1 })
    return all.filter(({ status }) => status === 'fulfilled').length
  }
  t.equal(await settle(Buffer.alloc(10)), 10)
  t.equal(await settle(Buffer.alloc(50_000)), 3)
  t.equal(await settle(Buffer.alloc(300_000)), 1, 'one alone may be larger than the bound')
  t.equal(await settle(Buffer.alloc(10)), 10, 'and room is given back')
})

t.test('an error crosses the thread unchanged', async (t) => {
  const { store } = await open(t)
  await store.tokens.create([aToken({ id: 'taken' })], NOW)
  const error = await store.tokens.create([aToken({ id: 'taken' })], NOW).catch((thrown: unknown) => thrown)
  t.ok(error instanceof AppError)
  t.match(error, { code: 'conflict', status: 409 })
  t.notMatch(JSON.stringify(error), /sqlite/i)
})

t.test('an argument that cannot be copied fails its own write only', async (t) => {
  const { store } = await open(t)
  const shape = { name: 'things', indexes: [], lookups: [] }
  const insert = (id: string, record: unknown) =>
    store.records.commit([{ kind: 'insert', collection: 'things', tenantId: 'a', id, record, shape }], NOW)
  const responses = await Promise.allSettled([
    insert('a', {}),
    insert('b', { id: () => 'a function' }),
    insert('c', {}),
  ])
  t.match(responses, [
    { status: 'fulfilled' },
    { status: 'rejected', reason: { code: 'internal' } },
    { status: 'fulfilled' },
  ])
})

t.test('an ingest ends early for a call that is sent while it runs', async (t) => {
  const { location } = await open(t)
  const writer = await startWriter({ log: silent }, { path: location })
  t.teardown(() => writer.close())
  const rows = Array.from({ length: 10_000 }, (_, at) => aLog(at + 1))
  const ingest = writer.write(ingestLogs, { rows })
  await setImmediate()
  const [created] = await writer.write(createTokens, { tokens: [aToken()], now: NOW })
  t.match(created, { kind: 'created' })
  const done = await ingest
  t.ok('rows' in done && done.rows < rows.length, JSON.stringify(done))
})

t.test('a dead writer thread fails its pending writes, and the next write starts another', async (t) => {
  const { store, threads } = await open(t)
  t.equal(threads.length, 1)
  const waiting = Array.from({ length: 3 }, () => store.tokens.create([aToken()], NOW))
  await threads[0]?.terminate()
  for (const response of await Promise.allSettled(waiting))
    t.match(response, { status: 'rejected', reason: { code: 'gateway_timeout' } })
  await store.tokens.create([aToken({ id: 'after' })], NOW)
  t.equal((await store.tokens.read('tenant-a', ['after'], NOW)).length, 1)
  t.equal(threads.length, 2)
})

t.test('database, log and index of the log are for their owner only', async (t) => {
  const { store, location } = await open(t)
  await store.tokens.create([aToken()], NOW)
  for (const suffix of ['', '-wal', '-shm']) t.equal(statSync(location + suffix).mode & 0o777, 0o600, suffix)
})

t.test('a write to a closed store was not made, and is "overloaded"', async (t) => {
  const { store } = await open(t)
  await store.close()
  await t.rejects(store.tokens.create([aToken()], NOW), { code: 'overloaded', uncertain: false })
})
