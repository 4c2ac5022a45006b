import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { createRecords } from '../../../src/kernel/services/records.ts'
import type { Collection, Plugin } from '../../../src/sdk/index.ts'
import { startTestService } from '../../kit/service.ts'
import { openInThread } from '../../kit/store-in-thread.ts'

interface Account {
  readonly id: string
  readonly email: string
  readonly visits: number
}

const Accounts: Collection = {
  name: 'accounts',
  schema: Type.Object({ id: Type.String(), email: Type.String(), visits: Type.Integer() }),
  lookups: ['email'],
}

const plugin: Plugin = {
  api: 1,
  name: 'accounts',
  version: '1.0.0',
  setup: () => ({ collections: [Accounts] }),
}

const setUp = async (t: Test) => {
  const service = await startTestService(t, { openStore: openInThread, plugins: [plugin] })
  const { store, keys, clock, tenantId } = service
  return {
    records: createRecords<Account>({ store: store.records, keys, clock, onRejected: () => {} }, Accounts),
    store,
    tenantId,
    service,
  }
}

t.test('a record is written, read, found and deleted, under its tenant only', async (t) => {
  const { records, tenantId, service } = await setUp(t)
  const other = await service.newTenant()
  const ann = { id: '1', email: 'ann@example.org', visits: 0 }
  await records.insert(tenantId, ann)
  t.strictSame(await records.get(tenantId, '1'), ann)
  t.strictSame(await records.read(tenantId, '1'), { record: ann, version: 1 })
  t.strictSame(await records.find(tenantId, { page: 1, size: 20 }), { items: [ann], total: 1 })
  t.strictSame(await records.lookup('email', 'ann@example.org'), { tenantId, record: ann })
  t.equal(await records.get(other.id, '1'), undefined)
  t.equal(await records.update(other.id, '1', (current) => current), undefined)
  t.equal(await records.delete(other.id, '1'), false)
  t.equal(await records.delete(tenantId, '1'), true)
  t.equal(await records.delete(tenantId, '1'), false)
})

t.test('a record that its schema rejects is not written, and its values are not quoted', async (t) => {
  const { records, tenantId } = await setUp(t)
  const bad = { id: '1', email: 'secret@example.org', visits: 'often' } as unknown as Account
  const thrown = await records.insert(tenantId, bad).catch((error) => error)
  t.match(thrown.message, /"accounts" does not satisfy its schema at visits/)
  t.notMatch(thrown.message, /secret|often/)
  t.equal(await records.get(tenantId, '1'), undefined)
})

t.test('an existing id or lookup value is a conflict, on insert and on update', async (t) => {
  const { records, tenantId } = await setUp(t)
  await records.insert(tenantId, { id: '1', email: 'a', visits: 0 })
  await records.insert(tenantId, { id: '2', email: 'b', visits: 0 })
  await t.rejects(records.insert(tenantId, { id: '1', email: 'c', visits: 0 }), { code: 'conflict' })
  await t.rejects(records.insert(tenantId, { id: '3', email: 'a', visits: 0 }), { code: 'conflict' })
  let calls = 0
  await t.rejects(
    records.update(tenantId, '2', (current) => {
      calls++
      return { ...current, email: 'a' }
    }),
    { code: 'conflict' },
  )
  t.equal(calls, 1, 'it was not tried again in vain')
  t.equal(await records.update(tenantId, '9', (current) => current), undefined)
})

t.test('each write increments the change counter of its collection', async (t) => {
  const { records, tenantId, store } = await setUp(t)
  const counter = () => store.records.changes(['accounts'])
  const seen = [await counter()]
  await records.insert(tenantId, { id: '1', email: 'a', visits: 0 })
  seen.push(await counter())
  await records.update(tenantId, '1', (current) => ({ ...current, visits: 1 }))
  seen.push(await counter())
  await records.update(tenantId, '1', (current) => current)
  t.equal(await counter(), seen.at(-1), 'an update without a change writes nothing')
  await records.delete(tenantId, '1')
  seen.push(await counter())
  t.equal(new Set(seen).size, 4)
})
