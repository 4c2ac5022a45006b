import type { Test } from 'tap'
import type { TenantRow } from '../../src/store/tenants/types.ts'
import type { Created, SearchNode } from '../../src/store/tokens/types.ts'
import { aLog, aToken, NOW } from '../store/kit.ts'
import type { OpenStore } from './store-contract.ts'

const tenant = (id: string): TenantRow => ({
  id,
  owner_id: 'owner',
  name: id,
  settings: {},
  created_by: null,
  created_at: NOW,
  modified_by: null,
  modified_at: null,
})

const seqOf = (created: Created | undefined): number => (created?.kind === 'created' ? created.seq : 0)

export const storeResources = async (t: Test, open: OpenStore): Promise<void> => {
  await t.test('associations link parent to children, and are deleted with either token', async (t) => {
    const { tokens } = await open(t)
    const made = await tokens.create([aToken({ id: 'p' }), aToken({ id: 'c1' }), aToken({ id: 'c2' })], NOW)
    const [parent, first, second] = made.map(seqOf) as [number, number, number]
    const between = (parentSeq: number, childSeq: number, tenantId = 'tenant-a') => ({
      tenantId,
      parentSeq,
      childSeq,
    })
    const listed = async (where: SearchNode) =>
      (await tokens.list({ tenantId: 'tenant-a', now: NOW, visibility: 'all', where, size: 10 })).map(
        ({ id }) => id,
      )
    const children = (parentSeq: number) => listed({ kind: 'child', parentSeq })
    const parents = (childSeq: number) => listed({ kind: 'parent', childSeq })
    t.equal(await tokens.associate(between(parent, first), NOW), 'associated')
    t.equal(await tokens.associate(between(parent, second), NOW), 'associated')
    t.equal(await tokens.associate(between(parent, first), NOW), 'exists')
    t.equal(await tokens.associate(between(first, parent), NOW), 'associated', 'the other way is another one')
    t.equal(await tokens.associate(between(parent, first, 'tenant-b'), NOW), 'gone')
    t.equal(await tokens.associate(between(parent, 9_999), NOW), 'gone')
    t.strictSame(await children(parent), ['c2', 'c1'])
    t.strictSame(await parents(first), ['p'])
    t.equal(await tokens.associate(between(second, first), NOW), 'associated')
    t.strictSame(await parents(first), ['c2', 'p'])
    t.strictSame(await parents(parent), ['c1'])
    t.equal(await tokens.dissociate(between(parent, second, 'tenant-b')), false)
    t.equal(await tokens.dissociate(between(parent, second)), true)
    t.equal(await tokens.dissociate(between(parent, second)), false)
    t.strictSame(await children(parent), ['c1'])

    const [child] = await tokens.create([aToken({ id: 'c3', parentSeq: parent })], NOW)
    t.strictSame(await children(parent), ['c3', 'c1'])
    t.equal(
      await tokens.count({
        tenantId: 'tenant-a',
        now: NOW,
        visibility: 'all',
        where: { kind: 'child', parentSeq: parent },
      }),
      2,
    )
    t.equal(await tokens.delete('tenant-a', 'c3', NOW), true)
    t.strictSame(await children(parent), ['c1'])
    t.equal(await tokens.associate(between(parent, seqOf(child)), NOW), 'gone')
    await tokens.delete('tenant-a', 'p', NOW)
    t.strictSame(await children(first), [])
    t.strictSame(await parents(first), ['c2'])
    await t.rejects(tokens.create([aToken({ id: 'c4', parentSeq: parent })], NOW), {
      code: 'token_not_found',
    })
    t.strictSame(await tokens.read('tenant-a', ['c4'], NOW), [])
  })

  await t.test('create under a parent returns and associates an existing duplicate', async (t) => {
    const { tokens } = await open(t)
    const [parent] = await tokens.create([aToken({ id: 'p', fingerprint: 'P' })], NOW)
    await tokens.create([aToken({ id: 'there', fingerprint: 'F' })], NOW)
    const parentSeq = seqOf(parent)
    const again = (fingerprint: string) =>
      tokens.create([aToken({ deduplicate: true, fingerprint, parentSeq })], NOW)
    for (const fingerprint of ['F', 'F', 'P']) t.match(await again(fingerprint), [{ kind: 'duplicate' }])
    const where = { kind: 'child', parentSeq } as const
    const children = await tokens.list({ tenantId: 'tenant-a', now: NOW, visibility: 'all', where, size: 5 })
    t.strictSame(
      children.map(({ id }) => id),
      ['there'],
      'a token is no child of itself',
    )
  })

  await t.test('its clock reports ms since the epoch', async (t) => {
    const store = await open(t)
    const about = Math.abs((await store.time()) - Date.now())
    t.ok(about < 60_000, `${about} ms apart`)
  })

  await t.test('live tokens are counted by type', async (t) => {
    const { tokens, usage } = await open(t)
    await tokens.create(
      [
        aToken({ id: 'gone', type: 'bank' }),
        aToken({ created_at: NOW - 5 }),
        aToken({ container: '/other/', created_at: NOW + 7 }),
        aToken({ expires_at: NOW + 10 }),
        aToken({ tenant_id: 'tenant-b' }),
      ],
      NOW,
    )
    await tokens.delete('tenant-a', 'gone', NOW)
    t.strictSame(await usage.types('tenant-a', NOW), [{ type: 'card', count: 3, last_created_at: NOW + 7 }])
    t.match(await usage.types('tenant-a', NOW + 10), [{ type: 'card', count: 2 }])
  })

  await t.test(
    'of requests with one idempotency key one runs, and the others get its stored response',
    async (t) => {
      const { idempotency: requests, tenantPurge } = await open(t)
      const response = { tenantId: 'tenant-a', key: Buffer.from('key') }
      const begin = (holder: string, now = NOW, more: object = {}) =>
        requests.begin(
          {
            ...response,
            operation: 'Things.Create',
            holder,
            runningUntil: now + 100,
            expiresAt: now + 900,
            ...more,
          },
          now,
        )
      const holders = ['a', 'b', 'c']
      const kinds = (await Promise.all(holders.map((holder) => begin(holder)))).map(({ kind }) => kind)
      t.strictSame(kinds.toSorted(), ['running', 'running', 'started'])
      await requests.abandon({ ...response, holder: 'd', certain: true }, NOW)
      t.strictSame(await begin('b'), { kind: 'running' }, 'only its holder gives it back')
      const held = holders[kinds.indexOf('started')] as string
      await requests.abandon({ ...response, holder: held, certain: true }, NOW)
      t.strictSame(await begin('b'), { kind: 'started' })
      t.strictSame(await begin('c', NOW + 100), { kind: 'started' }, 'a process that ended is not waited for')
      await requests.finish(
        { ...response, holder: 'b', sealed: Buffer.from('late'), expiresAt: NOW + 900 },
        NOW,
      )
      t.strictSame(await begin('b', NOW + 100), { kind: 'running' })
      await requests.finish(
        { ...response, holder: 'c', sealed: Buffer.from('kept'), expiresAt: NOW + 900 },
        NOW,
      )
      await requests.abandon({ ...response, holder: 'c', certain: true }, NOW)
      await requests.abandon({ ...response, holder: 'c', certain: false }, NOW)
      const sealed = Buffer.from('kept')
      const done = { kind: 'done', sealed }
      t.strictSame(await begin('d', NOW + 899), done)
      t.strictSame(await begin('d', NOW, { tenantId: 'tenant-b' }), { kind: 'started' })
      await tenantPurge.purge(NOW + 899, 10)
      t.strictSame(await begin('d', NOW + 899), done)
      t.equal(await tenantPurge.purge(NOW + 900, 10), 1)
      t.strictSame(await begin('d', NOW), { kind: 'started' })
    },
  )

  await t.test('writes under a lease are visible to the next holder', async (t) => {
    const { idempotency: requests, tokens, records } = await open(t)
    const rightTo = (name: string, holder = 'first') => ({
      tenantId: 'tenant-a',
      key: Buffer.from(name),
      holder,
      expiresAt: NOW + 900,
    })
    const begin = (right: ReturnType<typeof rightTo>, now = NOW, effects = false) =>
      requests.begin({ ...right, operation: 'Things.Create', runningUntil: now + 100, effects }, now)
    const create = (id: string) => tokens.create([aToken({ id })], NOW)

    const died = rightTo('died')
    await begin(died)
    await requests.runWithLease(died, () => create('one'))
    t.strictSame(await begin(rightTo('died', 'second'), NOW + 99), { kind: 'running' })
    t.strictSame(await begin(rightTo('died', 'second'), NOW + 100), { kind: 'indeterminate' })
    t.strictSame(await begin(rightTo('died', 'second'), NOW + 899), { kind: 'indeterminate' })
    const late = { ...died, expiresAt: NOW + 950, sealed: Buffer.from('late') }
    for (let times = 0; times < 2; times++) await requests.finish(late, NOW + 500)
    t.match(await begin(rightTo('died', 'second'), NOW + 949), { kind: 'done', sealed: late.sealed })
    t.strictSame(await begin(rightTo('died', 'second'), NOW + 950), { kind: 'started' })

    const slept = rightTo('slept')
    await begin(slept)
    t.strictSame(await begin(rightTo('slept', 'second'), NOW + 100), { kind: 'started' })
    await t.rejects(
      requests.runWithLease(slept, () => create('two')),
      { code: 'conflict' },
    )
    const row = { collection: 'things', tenantId: 'tenant-a', id: 'x', record: { id: 'x' } }
    const insert = { kind: 'insert', ...row, shape: { name: 'things', indexes: [], lookups: [] } } as const
    await t.rejects(
      requests.runWithLease(slept, () => records.commit([insert], NOW)),
      { code: 'conflict' },
    )
    t.strictSame(await tokens.read('tenant-a', ['two'], NOW), [], 'nothing of it stays')
    t.equal(await records.get('things', 'tenant-a', 'x'), undefined)

    const rejected = rightTo('rejected')
    await begin(rejected)
    await t.rejects(
      requests.runWithLease(rejected, async () => {
        await create('one')
      }),
      { code: 'conflict' },
      'the id is taken',
    )
    await requests.abandon({ ...rejected, certain: false }, NOW)
    t.strictSame(await begin(rejected), { kind: 'started' }, 'nothing was written')
    await requests.runWithLease(rejected, () => create('three'))
    await requests.abandon({ ...rejected, certain: false }, NOW + 1)
    t.strictSame(await begin(rejected, NOW + 1), { kind: 'indeterminate' })
    await requests.abandon({ ...rejected, certain: true }, NOW + 2)
    t.strictSame(await begin(rejected, NOW + 2), { kind: 'started' }, 'a failure that is certain is not kept')

    const outside = rightTo('outside')
    await begin(outside, NOW, true)
    t.strictSame(await begin(rightTo('outside', 'second'), NOW + 100), { kind: 'indeterminate' })

    const ended = rightTo('ended')
    await begin(ended)
    let after: Promise<unknown> | undefined
    await requests.runWithLease(ended, async () => {
      after = new Promise((resolve) => setImmediate(resolve)).then(() => create('four'))
    })
    await requests.abandon({ ...ended, certain: true }, NOW)
    await after
    t.equal((await tokens.read('tenant-a', ['four'], NOW)).length, 1, 'what outlives the call is its own')
  })

  await t.test(
    "a stored response is removed with its token, the token's change and its expiry",
    async (t) => {
      const { idempotency: requests, tokens, tenantPurge } = await open(t)
      const whole = Buffer.from('whole')
      const keep = async (
        name: string,
        ids: readonly string[],
        { version = 1, until = NOW + 900 }: { version?: number; until?: number } = {},
      ) => {
        const response = { tenantId: 'tenant-a', key: Buffer.from(name), holder: name, expiresAt: NOW + 900 }
        await requests.begin({ ...response, operation: 'Things.Create', runningUntil: NOW + 10 }, NOW)
        const shown = { sealed: whole, tokens: ids.map((id) => ({ id, created_at: NOW, version })), until }
        await requests.finish({ ...response, sealed: Buffer.from('outline'), shown }, NOW)
      }
      const shown = async (name: string, now = NOW) => {
        const key = { tenantId: 'tenant-a', key: Buffer.from(name) }
        const done = await requests.begin(
          { ...key, operation: '', holder: '', runningUntil: now + 1, expiresAt: now + 1 },
          now,
        )
        t.match(done, { kind: 'done', sealed: Buffer.from('outline') })
        return done.kind === 'done' && done.shown !== undefined
      }
      await tokens.create(
        [aToken({ id: 'plain' }), aToken({ id: 'other' }), aToken({ id: 'plain', tenant_id: 'tenant-b' })],
        NOW,
      )
      await keep('both', ['plain', 'other'])
      await keep('one', ['plain'])
      await keep('short', ['other'], { until: NOW + 50 })
      await keep('late', ['plain', 'gone'])
      t.equal(await shown('late'), false, 'one was deleted before the response was stored')
      await tokens.delete('tenant-b', 'plain', NOW)
      for (const name of ['both', 'one', 'short']) t.equal(await shown(name), true, name)
      t.equal(await shown('short', NOW + 50), false)
      t.equal(await tenantPurge.purge(NOW + 50, 10), 1)
      t.equal(await shown('short'), false, 'it is gone, not only hidden')
      await tokens.delete('tenant-a', 'plain', NOW)
      for (const name of ['both', 'one']) t.equal(await shown(name), false, name)

      await keep('changed', ['other'])
      const [row] = await tokens.read('tenant-a', ['other'], NOW)
      const { version, ...rest } = row!
      const row2 = { ...rest, modified_at: NOW + 1 }
      await tokens.update({ row: row2, version, terms: [], deduplicate: false }, NOW)
      t.equal(await shown('changed'), false)
      await keep('overtaken', ['other'])
      t.equal(await shown('overtaken'), false, 'the token changed between the response and its storage')
      await keep('current', ['other'], { version: 2 })
      t.equal(await shown('current'), true)
    },
  )

  await t.test("a token's update deletes the records that would outlive its new expiry", async (t) => {
    const { tokens, records } = await open(t)
    const shape = { name: 'results', indexes: [], lookups: [], tokens: 'of', expires: 'until' }
    const insert = (id: string, of: readonly string[], until?: number, tenantId = 'tenant-a') =>
      records.commit(
        [
          {
            kind: 'insert',
            collection: 'results',
            tenantId,
            id,
            record: { of, ...(until === undefined ? {} : { until }) },
            shape,
          },
        ],
        NOW,
      )
    const left = async () =>
      (await records.find('results', 'tenant-a', { size: 10 })).rows.map(({ id }) => id)
    const expire = async (id: string, expires_at: number | null) => {
      const [row] = await tokens.read('tenant-a', [id], NOW)
      const { version, ...rest } = row!
      const update = { row: { ...rest, expires_at }, version, terms: [], deduplicate: false }
      t.strictSame(await tokens.update(update, NOW), { kind: 'updated' })
    }
    await tokens.create(
      [aToken({ id: 'one' }), aToken({ id: 'two' }), aToken({ id: 'one', tenant_id: 'tenant-b' })],
      NOW,
    )
    await insert('brief', ['one'], NOW + 10)
    await insert('long', ['one', 'two'], NOW + 900)
    await insert('endless', ['one'])
    await insert('beside', ['two'], NOW + 900)
    await insert('foreign', ['one'], NOW + 900, 'tenant-b')
    const all = ['beside', 'brief', 'endless', 'long']
    await expire('one', null)
    t.strictSame((await left()).sort(), all)
    await expire('one', NOW + 10)
    t.strictSame((await left()).sort(), ['beside', 'brief'])
    t.ok(await records.get('results', 'tenant-b', 'foreign'))
    await expire('one', NOW + 20)
    await expire('one', null)
    t.strictSame((await left()).sort(), ['beside', 'brief'], 'an expiry put back restores nothing')
    await expire('one', NOW + 9)
    t.strictSame(await left(), ['beside'])
  })

  await t.test('a record with an expiry is removed then', async (t) => {
    const { records, tenantPurge } = await open(t)
    const shape = { name: 'things', indexes: [], lookups: ['hash'], expires: 'until' }
    const write = (kind: 'insert' | 'replace', id: string, record: object) =>
      records.commit([{ kind, collection: 'things', tenantId: 'tenant-a', id, record, shape }], NOW)
    await write('insert', 'a', { hash: 'a', until: NOW + 10 })
    await write('insert', 'b', { hash: 'b', until: NOW + 10 })
    await write('insert', 'c', {})
    await write('replace', 'b', { hash: 'b', until: NOW + 20 })
    t.equal(await tenantPurge.purge(NOW + 9, 10), 0)
    t.equal(await tenantPurge.purge(NOW + 10, 10), 1)
    t.equal(await records.lookup('things', 'hash', 'a'), undefined)
    t.ok(await records.get('things', 'tenant-a', 'b'))
    await write('replace', 'b', { hash: 'b' })
    t.equal(await tenantPurge.purge(NOW + 1_000, 10), 0)
  })

  await t.test('no record of a deleted tenant is found, and its unique values are free', async (t) => {
    const { tenants, records } = await open(t)
    const shape = { name: 'things', indexes: ['type'], lookups: ['hash'], hosts: 'host', origins: 'host' }
    const insert = (id: string, tenantId: string) => {
      const record = { id, type: 'a', hash: 'same', host: `${tenantId}.example.com` }
      return records.commit([{ kind: 'insert', collection: 'things', tenantId, id, record, shape }], NOW)
    }
    for (const id of ['tenant-a', 'tenant-b']) await tenants.create(tenant(id), [])
    await insert('one', 'tenant-a')
    await t.rejects(insert('two', 'tenant-b'), { code: 'conflict' })
    await tenants.delete('tenant-a', NOW)
    t.equal(await records.get('things', 'tenant-a', 'one'), undefined)
    t.equal(await records.lookup('things', 'hash', 'same'), undefined)
    t.strictSame(await records.newest('things', 10), [])
    t.strictSame(await records.hosts(10), [])
    t.equal(await records.allowsOrigin('tenant-a.example.com'), false)
    for (const query of [{}, { page: 1, size: 10 }, { where: { type: 'a' } }, { ids: ['one'] }])
      t.strictSame(await records.find('things', 'tenant-a', query), { rows: [], total: 0 })
    await insert('two', 'tenant-b')
    t.match(await records.lookup('things', 'hash', 'same'), { id: 'two', tenantId: 'tenant-b' })
  })

  await t.test('a purge removes at most its limit of each table of a deleted tenant', async (t) => {
    const { tenants, idempotency, records, sealed, tenantPurge } = await open(t)
    const shape = { name: 'things', indexes: [], lookups: ['id'] }
    const inserting = (at: number, collection: string) => {
      const id = `${collection} ${at}`
      return { kind: 'insert', collection, tenantId: 'tenant-a', id, record: { id }, shape } as const
    }
    await tenants.create(tenant('tenant-a'), [])
    const numbers = Array.from({ length: 1_200 }, (_, at) => at)
    await records.commit(
      numbers.map((at) => inserting(at, at % 2 === 0 ? 'things' : 'others')),
      NOW,
    )
    const lease = {
      tenantId: 'tenant-a',
      operation: 'O',
      holder: 'h',
      runningUntil: NOW + 9,
      expiresAt: NOW + 9,
    }
    await Promise.all(numbers.map((at) => idempotency.begin({ ...lease, key: Buffer.from(String(at)) }, NOW)))
    const rows = async () => {
      const counts = [
        (await sealed.responses('tenant-a', Buffer.alloc(0), 2_000)).length,
        (await sealed.records('things', 'tenant-a', 0, 2_000)).length +
          (await sealed.records('others', 'tenant-a', 0, 2_000)).length,
      ]
      return counts
    }
    await tenants.delete('tenant-a', NOW)
    for (const left of [1_200, 700, 200, 0]) {
      t.strictSame(await rows(), [left, left])
      await tenantPurge.purge(NOW, 500)
    }
  })

  await t.test('a deleted tenant has no key and no record at once, and no row eventually', async (t) => {
    const store = await open(t)
    const { tenants, keys, records, tokens, tenantPurge, usage, logs } = store
    const shape = { name: 'things', indexes: [], lookups: [] }
    for (const id of ['tenant-a', 'tenant-b']) {
      await tenants.create({ ...tenant(id), mac: Buffer.from('one') }, [
        { tenant_id: id, purpose: 'data', version: 1, wrapped: Buffer.from('w'), created_at: NOW },
      ])
      await records.commit(
        [{ kind: 'insert', collection: 'things', tenantId: id, id: 'x', record: {}, shape }],
        NOW,
      )
      await tokens.create(
        Array.from({ length: 5 }, () => aToken({ tenant_id: id, metadata: { a: 'b' } })),
        NOW,
      )
    }
    await logs.ingest([aLog(1)])
    const changes = await records.changes(['things'])
    const [one, two] = [Buffer.from('one'), Buffer.from('two')]
    const changed = { ...tenant('tenant-a'), name: 'New', settings: { a: 'true' }, modified_at: NOW }
    t.equal(await tenants.update(changed, { from: one, to: two }), true)
    t.strictSame(await tenants.get('tenant-a'), { ...changed, mac: two })
    const updated = await tenants.changes()
    t.ok(updated > 0, 'what is cached of it is stale')
    t.equal(await tenants.update(tenant('tenant-a'), { from: one, to: two }), false, 'not as it was read')
    t.match(await tenants.get('tenant-a'), { name: 'New' })
    await t.rejects(tenants.delete('tenant-a', NOW, one), { code: 'precondition_failed' })
    t.equal(await tenants.delete('tenant-a', NOW, two), true)
    t.ok((await tenants.changes()) > updated)
    t.equal(await tenants.delete('tenant-a', NOW), false)
    t.equal(await tenants.update(changed, { from: two, to: one }), false)
    t.strictSame(await keys.keys('tenant-a'), [])
    t.equal(await tenants.get('tenant-a'), undefined)
    t.equal(await records.get('things', 'tenant-a', 'x'), undefined)
    t.not(await records.changes(['things']), changes, 'what is cached of it is stale')
    for (let rounds = 0; rounds < 5; rounds++) await tenantPurge.purge(NOW, 2)
    t.strictSame(await usage.types('tenant-a', NOW), [])
    t.equal((await logs.find('tenant-a')).length, 1, 'its logs stay: they are evidence')
    const list = { tenantId: 'tenant-a', now: NOW, visibility: 'all', size: 10 } as const
    t.strictSame(await tokens.list(list), [])
    await tokens.create([aToken()], NOW)
    t.ok((await tenantPurge.purge(NOW + 10_000_000, 10)) > 0, 'what a call under way still wrote goes too')
    t.equal(await tenantPurge.purge(NOW + 10_000_000, 10), 0)
    t.equal((await tokens.list({ ...list, tenantId: 'tenant-b' })).length, 5, 'others keep theirs')
    t.ok(await records.get('things', 'tenant-b', 'x'))
    t.equal((await keys.keys('tenant-b')).length, 1)
  })
}
