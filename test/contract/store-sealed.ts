import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import type { KeyRow } from '../../src/store/keys/types.ts'
import { aToken, NOW } from '../store/kit.ts'
import type { OpenStore } from './store-contract.ts'

/** As long as a wrapped key is, and naming a root key of eight equal bytes. */
const wrappedBy = (root: number): Buffer =>
  Buffer.concat([Buffer.of(1), Buffer.alloc(8, root), randomBytes(60)])

const key = (tenant_id: string, purpose: string, version: number, root: number): KeyRow => ({
  tenant_id,
  purpose,
  version,
  wrapped: wrappedBy(root),
  created_at: NOW,
})

/** Random bytes that are not in the format of seals, which would name a data key. */
const unsealed = (length: number): Buffer => Buffer.concat([Buffer.of(0), randomBytes(length - 1)])

const FIRST = { tenant_id: '', purpose: '', version: 0 }

export const storeSealed = async (t: Test, open: OpenStore): Promise<void> => {
  await t.test(
    'keys of all owners are paged in order, and replaced only if unchanged since they were read',
    async (t) => {
      const { keys } = await open(t)
      await keys.add([key('', 'check', 1, 1), key('', 'audit', 1, 1)])
      await keys.add([key('b', 'mac', 1, 1), key('b', 'data', 2, 1), key('b', 'data', 10, 1)])
      await keys.add([key('a', 'data', 1, 1)])
      const all = await keys.page(FIRST, 100)
      t.strictSame(
        all.map(({ tenant_id, purpose, version }) => `${tenant_id} ${purpose} ${version}`),
        [' audit 1', ' check 1', 'a data 1', 'b data 2', 'b data 10', 'b mac 1'],
      )
      t.strictSame(await keys.page(all[2]!, 2), all.slice(3, 5))
      t.strictSame(await keys.page(all[5]!, 2), [])
      const before = await keys.changes()
      const [one, two] = all
      const to = wrappedBy(2)
      const changes = [
        { ...one!, from: one!.wrapped, to },
        { ...two!, from: wrappedBy(1), to },
      ]
      t.equal(await keys.rewrap(changes), 1)
      t.strictSame(
        (await keys.keys('')).map(({ wrapped }) => wrapped),
        [to, two!.wrapped],
      )
      t.not(await keys.changes(), before)
      const removed = await keys.changes()
      await keys.remove([all[3]!, all[5]!])
      t.strictSame(await keys.keys('b'), [all[4]])
      t.not(await keys.changes(), removed)
    },
  )

  await t.test('root key rotation ends when nothing is left under another key', async (t) => {
    const { keys } = await open(t)
    const drop = ['root-next', 'root-previous']
    const end = { root: Buffer.alloc(8, 2), drop }
    const old = key('a', 'data', 1, 1)
    const previous = { ...key('', 'root-previous', 1, 2), created_at: NOW + 5 }
    await keys.add([key('', 'check', 1, 2), key('', 'root-next', 1, 1), previous])
    await keys.add([old, { ...key('a', 'reseal', 1, 1), wrapped: Buffer.alloc(0) }])
    t.equal(await keys.endRootChange(end), false)
    t.equal((await keys.keys('')).length, 3)
    await keys.rewrap([{ ...old, from: old.wrapped, to: wrappedBy(2) }])
    t.equal(await keys.endRootChange(end), true)
    t.strictSame(
      (await keys.keys('')).map(({ purpose, created_at }) => [purpose, created_at]),
      [['check', NOW + 5]],
      'the check is as old as the use of the root key',
    )
    await t.rejects(
      keys.add([key('b', 'data', 1, 1)]),
      { code: 'gateway_timeout' },
      'the old root key is over',
    )
    t.equal(await keys.add([key('b', 'data', 1, 2)]), true)
  })

  await t.test('nothing is written under a key version that was closed or removed', async (t) => {
    const { keys, tokens, sealed } = await open(t)
    const under = (version: number) =>
      aToken({ tenant_id: 'a', sealed: Buffer.concat([Buffer.of(1, 0, 0, 0, version), randomBytes(60)]) })
    const create = (version: number) => tokens.create([under(version)], NOW)
    await t.rejects(create(1), { code: 'overloaded' }, 'a tenant without keys')
    for (let version = 1; version <= 5; version++) {
      await keys.add([key('a', 'data', version, 1), key('a', 'data', version + 10, 1)])
      await create(version)
      // Acknowledged writes came before the closing; later ones are rejected.
      const [retained, found] = await Promise.all([
        Promise.allSettled(Array.from({ length: 6 }, () => create(version))),
        keys.close('a', version, NOW).then(() => sealed.tokens('a', 0, 1_000)),
      ])
      const there = found.filter((row) => row.sealed[4] === version).length
      t.equal(retained.filter(({ status }) => status === 'fulfilled').length + 1, there)
      await t.rejects(create(version), { code: 'overloaded', message: /nothing was written/ })
      await create(version + 10)
    }
    await keys.close('a', 5, NOW)
    const old = (await keys.keys('a')).filter(({ version }) => version <= 5)
    t.ok(old.length > 5, 'marks of what is closed, too')
    await keys.remove(old)
    await t.rejects(create(5), { code: 'overloaded' })
    await create(15)
  })

  await t.test(
    'of the end of a root key rotation and a key under the old root key, one is rejected',
    async (t) => {
      const { keys } = await open(t)
      await keys.add([key('', 'check', 1, 2), key('', 'root-previous', 1, 2)])
      const [added, ended] = await Promise.all([
        keys.add([key('a', 'data', 1, 1)]).catch(() => false),
        keys.endRootChange({ root: Buffer.alloc(8, 2), drop: ['root-previous'] }),
      ])
      t.not(added, ended)
      t.equal((await keys.keys('a')).length, added ? 1 : 0)
    },
  )

  await t.test(
    'sealed values are read by tenant, and replaced only if unchanged since they were read',
    async (t) => {
      const { tokens, records, idempotency, sealed } = await open(t)
      const ephemeral = { ephemeral: unsealed(50), ephemeral_until: NOW + 1_000 }
      const [one, two] = [aToken(ephemeral), aToken({ expires_at: NOW + 1 })]
      await tokens.create([one, two, aToken({ tenant_id: 'tenant-b' })], NOW)
      t.equal(await sealed.size('tenant-a'), 2)
      t.equal(await sealed.size('unknown'), 0)
      const rows = await sealed.tokens('tenant-a', 0, 10)
      t.match(rows, [
        { id: one.id, type: 'card', version: 1, sealed: one.sealed, ephemeral: one.ephemeral },
        { id: two.id, sealed: two.sealed, ephemeral: null },
      ])
      t.strictSame(await sealed.tokens('tenant-a', rows[0]!.seq, 10), rows.slice(1))
      t.equal((await sealed.tokens('tenant-a', 0, 1)).length, 1)

      const shape = { name: 'things', indexes: [], lookups: [] }
      const insert = { kind: 'insert', collection: 'things', tenantId: 'tenant-a', shape } as const
      const mac = Buffer.from('a mac')
      await records.commit([{ ...insert, id: 'x', record: { id: 'x' }, mac }], NOW)
      t.ok((await sealed.collections()).includes('things'))
      const [record] = await sealed.records('things', 'tenant-a', 0, 10)
      t.match(record, { id: 'x', version: 1, body: '{"id":"x"}', mac })
      t.strictSame(await sealed.records('things', 'tenant-b', 0, 10), [])

      const response = { tenantId: 'tenant-a', key: randomBytes(16), holder: 'me', expiresAt: NOW + 1_000 }
      await idempotency.begin({ ...response, operation: 'x', runningUntil: NOW + 10 }, NOW)
      const states = [{ id: one.id, created_at: NOW, version: 1 }]
      const shown = { sealed: unsealed(40), tokens: states, until: NOW + 900 }
      await idempotency.finish({ ...response, sealed: unsealed(40), shown }, NOW)
      const [retained] = await sealed.responses('tenant-a', Buffer.alloc(0), 10)
      t.strictSame(retained?.shown, shown.sealed)
      t.strictSame(await sealed.responses('tenant-a', retained!.key, 10), [])

      const to = unsealed(60)
      const wrong = unsealed(120)
      const change = {
        tokens: [
          { seq: rows[0]!.seq, sealed: { from: one.sealed, to }, ephemeral: { from: wrong, to } },
          { seq: rows[1]!.seq, sealed: { from: wrong, to } },
        ],
        records: [
          { seq: record!.seq, from: mac, to, body: '{"id":"x","$sealed":"y"}' },
          { seq: record!.seq, from: wrong, to, body: '{}' },
        ],
        responses: [{ key: retained!.key, sealed: { from: wrong, to }, shown: { from: shown.sealed, to } }],
      }
      t.equal(await sealed.reseal({ tenantId: 'tenant-b', ...change }), 0, 'of another tenant nothing is')
      const changesBefore = await records.changes(['things'])
      t.equal(await sealed.reseal({ tenantId: 'tenant-a', ...change }), 3)
      t.match(await sealed.tokens('tenant-a', 0, 10), [
        { version: 1, sealed: to, ephemeral: one.ephemeral },
        { version: 1, sealed: two.sealed },
      ])
      t.match(await records.get('things', 'tenant-a', 'x'), { version: 1, body: /"\$sealed":"y"/, mac: to })
      t.match(await sealed.responses('tenant-a', Buffer.alloc(0), 10), [
        { sealed: retained!.sealed, shown: to },
      ])
      t.equal(await records.changes(['things']), changesBefore)
      t.equal(await sealed.reseal({ tenantId: 'tenant-a', ...change }), 0)
    },
  )
}
