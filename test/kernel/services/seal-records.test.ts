import t from 'tap'
import { Type } from 'typebox'
import { createRecords } from '../../../src/kernel/services/records.ts'
import type { Collection, Plugin } from '../../../src/sdk/index.ts'
import { startTestService } from '../../kit/service.ts'
import { openInThread } from '../../kit/store-in-thread.ts'
import { issuesOf, pluginOf } from '../kit.ts'

const Safes: Collection = {
  name: 'safes',
  schema: Type.Object({
    id: Type.String(),
    name: Type.String(),
    secret: Type.Optional(Type.String()),
    more: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  }),
  sealed: ['secret', 'more'],
}

const plugin: Plugin = { api: 1, name: 'safes', version: '1.0.0', setup: () => ({ collections: [Safes] }) }

interface Safe {
  readonly id: string
  readonly name: string
  readonly secret?: string
  readonly more?: Record<string, unknown>
}

t.test('sealed members are stored encrypted, and read as they were written', async (t) => {
  const { store, keys, clock, tenantId } = await startTestService(t, {
    openStore: openInThread,
    plugins: [plugin],
  })
  const records = createRecords<Safe>({ store: store.records, keys, clock, onRejected: () => {} }, Safes)
  const safe = { id: '1', name: 'mine', secret: 'open sesame', more: { pin: [1, 2] } }
  await records.insert(tenantId, safe)
  await records.insert(tenantId, { id: '2', name: 'empty' })
  t.strictSame(await records.get(tenantId, '1'), safe)
  t.strictSame((await records.read(tenantId, '1'))?.record, safe)
  t.strictSame((await records.find(tenantId, {})).items, [{ id: '2', name: 'empty' }, safe])
  const stored = await store.records.get('safes', tenantId, '1')
  t.strictSame(Object.keys(JSON.parse(stored!.body)).sort(), ['$sealed', 'id', 'name'])
  t.notMatch(JSON.stringify(stored), /sesame|pin/)
  await records.update(tenantId, '1', (current) => ({ ...current, secret: `${current.secret}!` }))
  t.equal((await records.get(tenantId, '1'))?.secret, 'open sesame!')
})

t.test('a row without a valid MAC of its record and version is rejected and reported', async (t) => {
  const { store, keys, clock, tenantId } = await startTestService(t, {
    openStore: openInThread,
    plugins: [plugin],
  })
  const rejected: unknown[] = []
  const deps = { store: store.records, keys, clock, onRejected: (row: unknown) => rejected.push(row) }
  const records = createRecords<Safe>(deps, Safes)
  await records.insert(tenantId, { id: '1', name: 'a', secret: 'x' })
  await records.insert(tenantId, { id: '2', name: 'b' })
  const { body, mac } = (await store.records.get('safes', tenantId, '1'))!
  const shape = { name: 'safes', indexes: [], lookups: [] }
  const put = (rest: object) =>
    store.records.commit(
      [{ kind: 'replace', collection: 'safes', tenantId, id: '2', record: {}, shape, ...rest }],
      clock.now(),
    )
  const record = JSON.parse(body)
  for (const rest of [{ record, mac: mac! }, { record: { ...record, id: '2' }, mac: mac! }, { record }]) {
    await put(rest)
    await t.rejects(records.get(tenantId, '2'), { code: 'internal' })
  }
  t.strictSame(rejected, Array(3).fill({ collection: 'safes', tenantId, id: '2' }))
  t.match(await records.get(tenantId, '1'), { secret: 'x' })
})

t.test('lookup and index members cannot be sealed', async (t) => {
  const schema = Type.Object({ id: Type.String(), name: Type.String(), hash: Type.String() })
  const issues = await issuesOf([
    pluginOf({ collections: [{ name: 'a', schema, lookups: ['hash'], sealed: ['hash', 'name', 'none'] }] }),
    pluginOf({ collections: [{ name: 'b', schema, expires: 'hash' }] }, { name: 'other' }),
  ])
  t.equal(issues.length, 4)
  t.match(
    issues.join('\n'),
    /found by "hash"[\s\S]*found by "name"[\s\S]*"none" is no member[\s\S]*"hash" is no integer/,
  )
})
