import type { Test } from 'tap'
import type { RecordQuery } from '../../src/sdk/index.ts'
import type { StoredMutation } from '../../src/store/records/types.ts'
import type { Store } from '../../src/store/store.ts'
import { NOW } from '../store/kit.ts'
import type { OpenStore } from './store-contract.ts'

const shape: StoredMutation['shape'] = { name: 'applications', indexes: ['type', 'owner'], lookups: ['hash'] }
const other: StoredMutation['shape'] = { name: 'keys', indexes: [], lookups: ['hash'] }

type Change = Parameters<Store['records']['commit']>[0][number]

const insert = (id: string, members: object = {}, collection = shape, tenantId = 'tenant-a'): Change => ({
  kind: 'insert',
  collection: collection.name,
  tenantId,
  id,
  record: { id, ...members },
  shape: collection,
})

const replace = (id: string, members: object, version?: number): Change => ({
  ...insert(id, members),
  kind: 'replace',
  ...(version === undefined ? {} : { version }),
})

const remove = (id: string, version?: number): Change => ({
  kind: 'delete',
  collection: shape.name,
  tenantId: 'tenant-a',
  id,
  shape,
  ...(version === undefined ? {} : { version }),
})

export const storeRecords = async (t: Test, open: OpenStore): Promise<void> => {
  await t.test('a record is read back by id and by lookup, in its tenant and collection', async (t) => {
    const { records } = await open(t)
    const members = { name: 'Ä', hash: 'h1', nested: { list: [1, 'two', null] } }
    await records.commit([insert('a', members)], NOW)
    const body = JSON.stringify({ id: 'a', ...members })
    const row = { id: 'a', version: 1, body, name: 'ä', expires_at: null, mac: null }
    t.match(await records.get('applications', 'tenant-a', 'a'), row)
    t.match(await records.lookup('applications', 'hash', 'h1'), { ...row, tenantId: 'tenant-a' })
    t.equal(await records.get('applications', 'tenant-b', 'a'), undefined)
    t.equal(await records.get('keys', 'tenant-a', 'a'), undefined)
    t.equal(await records.lookup('keys', 'hash', 'h1'), undefined)
    t.equal(await records.lookup('applications', 'hash', 'H1'), undefined)
    t.equal(await records.lookup('applications', 'name', 'Ä'), undefined, 'not a lookup member')
  })

  await t.test('a commit is atomic, and its errors quote neither ids nor values', async (t) => {
    const { records } = await open(t)
    await records.commit([insert('a', { hash: 'secret-hash' })], NOW)
    const attempts: readonly [string, readonly Change[]][] = [
      ['a taken id', [insert('new'), insert('a')]],
      ['a taken lookup value', [insert('new'), insert('b', { hash: 'secret-hash' })]],
      [
        'a lookup value of another tenant',
        [insert('new'), insert('b', { hash: 'secret-hash' }, shape, 'tenant-b')],
      ],
      ['replacing what is not there', [insert('new'), replace('none', {})]],
      ['replacing another version', [insert('new'), replace('a', {}, 2)]],
      ['deleting what is not there', [insert('new'), remove('none')]],
      ['deleting another version', [insert('new'), remove('a', 7)]],
    ]
    for (const [name, changes] of attempts) {
      const error = await records.commit(changes, NOW).catch((thrown: unknown) => thrown)
      const conflictWith = /not there|another version/.test(name) ? 'change' : undefined
      t.match(error, { code: 'conflict', status: 409, conflictWith }, name)
      t.notMatch(String(error), /secret|applications|hash|record_/)
      t.equal(await records.get('applications', 'tenant-a', 'new'), undefined, `${name}: nothing stays`)
    }
    await records.commit([insert('a', {}, shape, 'tenant-b')], NOW)
    await records.commit([insert('k', { hash: 'secret-hash' }, other)], NOW)
    t.pass('the id is free in another tenant, the value in another collection')
  })

  await t.test('hosts of records are listed across tenants, each once per tenant', async (t) => {
    const { records } = await open(t)
    const one = { ...shape, hosts: 'host' }
    const many = { ...other, hosts: 'hosts' }
    const hosts = async (limit = 10) =>
      (await records.hosts(limit)).map(({ tenantId, host }) => [tenantId, host])
    t.same(await hosts(), [])
    await records.commit([insert('a', { host: 'b.test', type: 'x' }, one)], NOW)
    await records.commit([insert('k', { hosts: ['c.test', 'a.test', 'c.test'] }, many)], NOW)
    await records.commit([insert('b', { host: 'b.test' }, one, 'tenant-b')], NOW)
    await records.commit([insert('c', { host: 'a.test' }, one), insert('d', {}, one)], NOW)
    const all = [
      ['tenant-a', 'b.test'],
      ['tenant-a', 'a.test'],
      ['tenant-a', 'c.test'],
      ['tenant-b', 'b.test'],
    ]
    t.same(await hosts(), all, 'the oldest first')
    t.same(await hosts(2), all.slice(0, 2))
    await records.commit([{ ...replace('a', { type: 'x' }), shape: one }], NOW)
    await records.commit([{ ...insert('k', {}, many), kind: 'delete' }], NOW)
    t.same(await hosts(), [
      ['tenant-b', 'b.test'],
      ['tenant-a', 'a.test'],
    ])
    t.equal((await records.find('applications', 'tenant-a', { where: { type: 'x' } })).total, 1)
  })

  await t.test('an origin is allowed while a record of any tenant allows it', async (t) => {
    const { records } = await open(t)
    const allowing = { ...shape, origins: 'origins' }
    const first = 'https://shop.example'
    const second = 'https://shop.example:8443'
    const allowed = async (...origins: readonly string[]) => Promise.all(origins.map(records.allowsOrigin))
    await records.commit([insert('a', { origins: [first, second, first] }, allowing)], NOW)
    await records.commit([insert('b', { origins: [first] }, allowing, 'tenant-b')], NOW)
    t.same(await allowed(first, second), [true, true])
    const others = [
      '',
      'https://shop.exampl',
      `${first} `,
      `${first} 1`,
      `${first}.evil.example`,
      `${first}:84`,
    ]
    t.same(new Set(await allowed(...others)), new Set([false]), 'never by a part of it')
    await records.commit([{ ...replace('a', { origins: [] }), shape: allowing }], NOW)
    t.same(await allowed(first, second), [true, false])
    await records.commit([{ ...insert('b', {}, allowing, 'tenant-b'), kind: 'delete' }], NOW)
    t.same(await allowed(first), [false])
  })

  await t.test('a unique value exists in one record of the collection at a time', async (t) => {
    const { records } = await open(t)
    const unique = (change: Change, at: string): Change => ({ ...change, unique: { at } })
    await records.commit([unique(insert('a'), '1')], NOW)
    await t.rejects(records.commit([unique(insert('b'), '1')], NOW), { code: 'conflict' })
    await records.commit([unique(insert('b'), '2')], NOW)
    await t.rejects(records.commit([unique(replace('b', {}), '1')], NOW), { code: 'conflict' })
    await records.commit([unique(replace('a', {}), '1')], NOW)
    await records.commit([replace('a', {}), unique(replace('b', {}), '1')], NOW)
    const raced = await Promise.allSettled(
      Array.from({ length: 5 }, (_, at) => records.commit([unique(insert(`r${at}`), '3')], NOW)),
    )
    t.equal(raced.filter(({ status }) => status === 'fulfilled').length, 1)
  })

  await t.test('replacing increments the version, and updates lookups and indexes', async (t) => {
    const { records } = await open(t)
    await records.commit([insert('a', { hash: 'old', type: 'private' })], NOW)
    await records.commit([replace('a', { hash: 'new', type: 'public' }, 1)], NOW)
    t.match(await records.get('applications', 'tenant-a', 'a'), { version: 2, body: /"hash":"new"/ })
    t.equal(await records.lookup('applications', 'hash', 'old'), undefined)
    t.match(await records.lookup('applications', 'hash', 'new'), { id: 'a', version: 2 })
    const find = async (type: string) =>
      (await records.find('applications', 'tenant-a', { where: { type } })).total
    t.equal(await find('private'), 0)
    t.equal(await find('public'), 1)
    await records.commit([replace('a', { hash: 'new', type: 'public' })], NOW)
    t.match(
      await records.get('applications', 'tenant-a', 'a'),
      { version: 3 },
      'its own value is no conflict',
    )
    await records.commit([remove('a', 3), insert('b', { hash: 'new' })], NOW)
    t.match(await records.lookup('applications', 'hash', 'new'), { id: 'b' }, 'a freed value can be taken')
    t.equal(await records.get('applications', 'tenant-a', 'a'), undefined)
    t.equal(await find('public'), 0)
  })

  await t.test('of racing replacements of one version, one succeeds', async (t) => {
    const { records } = await open(t)
    await records.commit([insert('a', { hash: 'x' })], NOW)
    const all = await Promise.allSettled(
      Array.from({ length: 32 }, (_, n) => records.commit([replace('a', { hash: `x${n}` }, 1)], NOW)),
    )
    t.equal(all.filter(({ status }) => status === 'fulfilled').length, 1)
    t.match(await records.get('applications', 'tenant-a', 'a'), { version: 2 })
  })

  await t.test(
    'change counters increase with every commit to their collections, and only then',
    async (t) => {
      const { records } = await open(t)
      const both = ['applications', 'keys']
      t.equal(await records.changes(both), 0)
      t.equal(await records.changes([]), 0)
      await records.commit([insert('a'), insert('b')], NOW)
      const after = await records.changes(both)
      t.not(after, 0)
      t.equal(await records.changes(['keys']), 0)
      await records.commit([insert('k', {}, other), insert('c')], NOW)
      t.not(await records.changes(both), after)
      const quiet = await records.changes(both)
      await records.commit([insert('a')], NOW).catch(() => {})
      await records.commit([], NOW)
      t.equal(await records.changes(both), quiet, 'what failed moved nothing')
      await records.commit([remove('a')], NOW)
      t.not(await records.changes(both), quiet)
    },
  )

  await t.test('lists: filters, wildcards, pages, newest first', async (t) => {
    const { records } = await open(t)
    const names = ['Alpha', 'beta one', 'BETA two', '100%', 'a_b', 'back\\slash', 'Ärger', 'axb']
    await records.commit(
      names.map((name, n) =>
        insert(`r${n}`, { name, type: n % 2 ? 'public' : 'private', owner: `o${n % 3}` }),
      ),
      NOW,
    )
    await records.commit([insert('foreign', { name: 'Alpha', type: 'public' }, shape, 'tenant-b')], NOW)
    const find = async (query: RecordQuery) => {
      const { rows, total } = await records.find('applications', 'tenant-a', query)
      return [rows.map(({ id }) => id).join(' '), total]
    }
    t.strictSame(await find({}), ['r7 r6 r5 r4 r3 r2 r1 r0', 8])
    t.strictSame(await find({ page: 1, size: 3 }), ['r7 r6 r5', 8])
    t.strictSame(await find({ page: 3, size: 3 }), ['r1 r0', 8])
    t.strictSame(await find({ page: 4, size: 3 }), ['', 8])
    t.strictSame(await find({ ids: ['r2', 'r0', 'foreign', 'none'] }), ['r2 r0', 2])
    t.strictSame(await find({ ids: [] }), ['', 0])
    t.strictSame(await find({ where: { type: 'public' } }), ['r7 r5 r3 r1', 4])
    t.strictSame(await find({ where: { type: ['public', 'private'], owner: ['o0', 'o1'] } }), [
      'r7 r6 r4 r3 r1 r0',
      6,
    ])
    t.strictSame(await find({ where: { type: [] } }), ['', 0])
    t.strictSame(await find({ where: { name: 'Alpha' } }), ['', 0], 'not an indexed member')
    t.strictSame(await find({ where: { type: 'public' }, ids: ['r1', 'r2'], page: 1, size: 5 }), ['r1', 1])
    t.strictSame(await find({ name: 'beta' }), ['r2 r1', 2], 'contains, in any case')
    t.strictSame(await find({ name: 'BETA*' }), ['r2 r1', 2])
    t.strictSame(await find({ name: '*one' }), ['r1', 1])
    t.strictSame(await find({ name: 'a?b' }), ['r7 r4', 2])
    t.strictSame(await find({ name: 'a_b' }), ['r4', 1], 'an underscore is itself')
    t.strictSame(await find({ name: '%' }), ['r3', 1], 'a percent sign too')
    t.strictSame(await find({ name: '\\' }), ['r5', 1], 'a backslash too')
    t.strictSame(await find({ name: 'äRG' }), ['r6', 1], 'beyond ASCII')
    t.strictSame(await find({ name: '**' }), ['r7 r6 r5 r4 r3 r2 r1 r0', 8])
    t.strictSame(await find({ name: 'alph', where: { type: 'private' } }), ['r0', 1])
    t.strictSame(await find({ name: 'alp?' }), ['', 0], 'with a wildcard the whole name counts')
  })
}
