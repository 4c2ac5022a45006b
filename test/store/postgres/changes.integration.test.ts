import t, { type Test } from 'tap'
import { watchChanges } from '../../../src/store/postgres/changes.ts'
import { commitRecords } from '../../../src/store/records/commit.ts'
import type { Session } from '../../../src/store/session.ts'
import type { Store } from '../../../src/store/store.ts'
import { createTokens } from '../../../src/store/tokens/create.ts'
import type { Writer } from '../../../src/store/writer.ts'
import { postgresMissing } from '../../kit/postgres.ts'
import { aToken, NOW } from '../kit.ts'
import { aServer, aStore } from './kit.ts'

/** ms for which a read is valid. */
const MAX_AGE_MS = 800

/** Counters whose reads the test resolves. */
const setUp = (t: Test) => {
  let at = 0
  let versions: Readonly<Record<string, number>> = { things: 1 }
  const reads: { response: () => void; fail: () => void }[] = []
  const session = {
    all: () =>
      new Promise((resolve, reject) =>
        reads.push({
          response: () => resolve(Object.entries(versions).map(([kind, version]) => ({ kind, version }))),
          fail: () => reject(new Error('away')),
        }),
      ),
  } as unknown as Session
  const writer: Writer = { write: async () => undefined as never, close: async () => {} }
  const watched = watchChanges({ session, writer, now: () => at })
  t.teardown(() => watched.close())
  return {
    watched,
    reads,
    sum: async () => watched.changes.sum(['things']),
    advance: (ms: number) => {
      at += ms
    },
    set: (things: number) => {
      versions = { things }
    },
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

t.test('a cached read is reused up to its maximum age', async (t) => {
  const { sum, reads, advance, set } = setUp(t)
  const first = sum()
  reads[0]?.response()
  t.equal(await first, 1)
  set(2)
  advance(MAX_AGE_MS)
  t.equal(await sum(), 1)
  t.equal(reads.length, 1)
  advance(1)
  const second = sum()
  reads[1]?.response()
  t.equal(await second, 2)
})

t.test('the age of a read counts from its start, and a read that took too long is discarded', async (t) => {
  const { sum, reads, advance } = setUp(t)
  const asked = sum()
  advance(MAX_AGE_MS + 1)
  reads[0]?.response()
  await turn()
  advance(MAX_AGE_MS + 1)
  reads[1]?.response()
  await t.rejects(asked, { code: 'overloaded' })
  t.equal(reads.length, 2)
})

t.test('reads fail when the store is down and the cached value is too old', async (t) => {
  const { sum, reads, advance } = setUp(t)
  const first = sum()
  reads[0]?.response()
  await first
  advance(MAX_AGE_MS + 1)
  const second = sum()
  reads[1]?.fail()
  await t.rejects(second, { message: 'away' })
})

t.test('a write of this process counts at once, even during a read', async (t) => {
  const { watched, sum, reads, set } = setUp(t)
  const before = sum()
  await watched.writer.write(commitRecords, { mutations: [], now: 0 })
  reads[0]?.response()
  t.equal(await before, 1)
  set(2)
  const after = sum()
  t.equal(reads.length, 2, 'the look that began before the write is not used')
  reads[1]?.response()
  t.equal(await after, 2)
  await watched.writer.write(createTokens, { tokens: [], now: 0 })
  t.equal(await sum(), 2)
  t.equal(reads.length, 2, 'tokens move no counter')
})

t.test('replicas on one PostgreSQL', { skip: postgresMissing() }, async (t) => {
  const server = await aServer(t)
  const address = await server.database()
  const stores = [
    await aStore(t, address),
    await aStore(t, address, { mode: 'join' }),
    await aStore(t, address),
  ]
  const shape = { name: 'things', indexes: [], lookups: [] }
  let id = 0
  const insert = (store: Store) =>
    store.records.commit(
      [{ kind: 'insert', collection: 'things', tenantId: 'a', id: String(++id), record: {}, shape }],
      NOW,
    )

  t.test('see each change, the writer with its response', async (t) => {
    for (const [number, writer] of stores.entries()) {
      await insert(writer)
      t.equal(await writer.records.changes(['things']), number + 1)
      for (const store of stores)
        while ((await store.records.changes(['things'])) !== number + 1)
          await new Promise((resolve) => setTimeout(resolve, 5))
    }
  })

  t.test('and changes of keys', async (t) => {
    const before = await Promise.all(stores.map((store) => store.keys.changes()))
    const key = { tenant_id: 'a', purpose: 'data', version: 1, wrapped: Buffer.from('w'), created_at: NOW }
    await stores[1]?.keys.add([key])
    for (const [number, store] of stores.entries())
      while ((await store.keys.changes()) === before[number])
        await new Promise((resolve) => setTimeout(resolve, 5))
    t.pass('it is known')
  })

  t.test('and of a tenant with egress_only tokens, before its first one is stored', async (t) => {
    const key = { tenant_id: 'b', purpose: 'data', version: 1, wrapped: Buffer.from('w'), created_at: NOW }
    const changes = { created_by: null, created_at: NOW, modified_by: null, modified_at: null }
    await stores[0]?.tenants.create({ id: 'b', owner_id: 'o', name: 'b', settings: {}, ...changes }, [key])
    const before = await Promise.all(stores.map((store) => store.tenants.changes()))
    await stores[1]?.tokens.create([aToken({ tenant_id: 'b', egress: { egress_only: true } })], NOW)
    const after = await Promise.all(stores.map((store) => store.tenants.changes()))
    t.ok(
      after.every((count, number) => count !== before[number]),
      'no process uses what it knew before',
    )
    for (const store of stores) t.equal(await store.tenants.hasEgressOnly('b'), true)
  })
})
