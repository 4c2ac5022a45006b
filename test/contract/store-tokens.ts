import type { Test } from 'tap'
import type { SearchNode, TokenRow, TokenUpdate } from '../../src/store/tokens/types.ts'
import { aToken, NOW } from '../store/kit.ts'
import type { OpenStore } from './store-contract.ts'

const changing = (
  row: TokenRow,
  changes: Partial<TokenRow>,
  rest: Partial<TokenUpdate> = {},
): TokenUpdate => {
  const { version, ...others } = { ...row, ...changes, version: row.version }
  return { row: others, version, terms: [], deduplicate: false, ...rest }
}

export const storeTokens = async (t: Test, open: OpenStore): Promise<void> => {
  await t.test('U+0000 is rejected wherever it would be stored in clear text, on every engine', async (t) => {
    const { tokens, records } = await open(t)
    const odd = 'a\0b'
    for (const changes of [
      { id: odd },
      { container: `/${odd}/` },
      { metadata: { [odd]: '1' } },
      { metadata: { k: odd } },
    ])
      await t.rejects(tokens.create([aToken({ metadata: null, ...changes })], NOW), {
        code: 'invalid',
        message: /U\+0000/,
      })
    await t.rejects(async () => tokens.read('tenant-a', [odd], NOW), { code: 'invalid' })
    const shape = { name: 'things', indexes: ['color'], lookups: ['code'] }
    const insert = (id: string, record: object) =>
      records.commit([{ kind: 'insert', collection: 'things', tenantId: 'tenant-a', id, record, shape }], NOW)
    await t.rejects(insert(odd, {}), { code: 'invalid' })
    for (const member of ['name', 'color', 'code'])
      await t.rejects(insert('x', { [member]: odd }), { code: 'invalid' }, member)
    await insert('x', { text: odd })
    const { body = '' } = (await records.get('things', 'tenant-a', 'x')) ?? {}
    t.same(JSON.parse(body), { text: odd }, 'inside a body it is kept')
  })

  await t.test('a created token is read back unchanged', async (t) => {
    const { tokens } = await open(t)
    const token = aToken({
      ephemeral: Buffer.from([1, 2, 3]),
      ephemeral_until: NOW + 1_000,
      metadata: { color: 'red', 'weird.key-1': 'ünï' },
      fingerprint: 'fp',
      expires_at: NOW + 2_000,
    })
    const [created] = await tokens.create([token], NOW)
    t.match(created, { kind: 'created', id: token.id })
    const [row] = await tokens.read('tenant-a', [token.id], NOW)
    const { terms, deduplicate, fallbackIds, ...stored } = token
    t.strictSame(row, {
      ...stored,
      seq: created?.kind === 'created' ? created.seq : 0,
      version: 1,
      modified_by: null,
      modified_at: null,
    })
    t.ok(Buffer.isBuffer(row?.sealed) && Buffer.isBuffer(row?.ephemeral), 'bytes are Buffers')
  })

  await t.test('a batched read returns the tokens that exist', async (t) => {
    const { tokens } = await open(t)
    const made = Array.from({ length: 5 }, () => aToken())
    await tokens.create(made, NOW)
    const ids = [...made.map(({ id }) => id), 'unknown', "it's; drop table tokens", '', made[0]?.id as string]
    const rows = await tokens.read('tenant-a', ids, NOW)
    t.strictSame(rows.map(({ id }) => id).sort(), made.map(({ id }) => id).sort())
    t.strictSame(await tokens.read('tenant-a', [], NOW), [])
  })

  await t.test('another tenant sees nothing, and may use the same ids', async (t) => {
    const { tokens } = await open(t)
    const mine = aToken({ id: 'same', sealed: Buffer.from('a') })
    await tokens.create([mine], NOW)
    t.strictSame(await tokens.read('tenant-b', ['same'], NOW), [])
    t.equal(await tokens.delete('tenant-b', 'same', NOW), false)
    await tokens.create([aToken({ tenant_id: 'tenant-b', id: 'same', sealed: Buffer.from('b') })], NOW)
    const [a] = await tokens.read('tenant-a', ['same'], NOW)
    const [b] = await tokens.read('tenant-b', ['same'], NOW)
    t.equal(a?.sealed.toString(), 'a')
    t.equal(b?.sealed.toString(), 'b')
    const foreign = await tokens.update(changing({ ...(a as TokenRow), tenant_id: 'tenant-b' }, {}), NOW)
    t.not(foreign.kind, 'updated', "a row of ours under another tenant's name changes nothing")
  })

  await t.test('an existing id is a conflict, and nothing is written', async (t) => {
    const { tokens } = await open(t)
    await tokens.create([aToken({ id: 'taken' })], NOW)
    const before = aToken({ terms: [Buffer.from('t')] })
    await t.rejects(tokens.create([before, aToken({ id: 'taken' })], NOW), { code: 'conflict', status: 409 })
    t.strictSame(await tokens.read('tenant-a', [before.id], NOW), [], 'all or nothing')
    t.equal(await tokens.count({ tenantId: 'tenant-a', now: NOW, visibility: 'all' }), 1)
    await t.rejects(tokens.create([aToken({ id: 'twice' }), aToken({ id: 'twice' })], NOW), {
      code: 'conflict',
    })
  })

  await t.test('fallback ids are tried in order', async (t) => {
    const { tokens } = await open(t)
    await tokens.create([aToken({ id: 'one' }), aToken({ id: 'two' })], NOW)
    const [created] = await tokens.create([aToken({ id: 'one', fallbackIds: ['two', 'three', 'four'] })], NOW)
    t.match(created, { kind: 'created', id: 'three' })
    t.equal((await tokens.read('tenant-a', ['three', 'four'], NOW)).length, 1)
  })

  await t.test('of many creates with one id, exactly one succeeds', async (t) => {
    const { tokens } = await open(t)
    const all = await Promise.allSettled(
      Array.from({ length: 64 }, () => tokens.create([aToken({ id: 'wanted' })], NOW)),
    )
    t.equal(all.filter(({ status }) => status === 'fulfilled').length, 1)
    for (const one of all) if (one.status === 'rejected') t.match(one.reason, { code: 'conflict' })
  })

  await t.test('an expired token is not found, and its id is free', async (t) => {
    const { tokens } = await open(t)
    const term = Buffer.from('term')
    const old = aToken({ id: 'again', expires_at: NOW + 10, terms: [term], metadata: { a: 'b' } })
    await tokens.create([old], NOW)
    t.equal((await tokens.read('tenant-a', ['again'], NOW + 9)).length, 1)
    t.strictSame(await tokens.read('tenant-a', ['again'], NOW + 10), [], 'from that instant')
    t.strictSame(await tokens.read('tenant-a', ['again', 'x'], NOW + 10), [])
    const [row] = await tokens.read('tenant-a', ['again'], NOW)
    t.strictSame(await tokens.update(changing(row as TokenRow, {}), NOW + 10), { kind: 'gone' })
    await tokens.create([aToken({ id: 'again', sealed: Buffer.from('new') })], NOW + 10)
    const [fresh] = await tokens.read('tenant-a', ['again'], NOW + 10)
    t.equal(fresh?.sealed.toString(), 'new')
    const query = { tenantId: 'tenant-a', now: NOW + 10, visibility: 'all' as const }
    t.equal(await tokens.count(query), 1)
    t.equal(await tokens.count({ ...query, where: { kind: 'term', term } }), 0, 'its search rows are gone')
    t.equal(
      (await tokens.update(changing(row as TokenRow, {}), NOW + 10)).kind,
      'stale',
      'it is another token',
    )
  })

  await t.test('a delete reports whether the token existed, and removes its dependent rows', async (t) => {
    const { tokens } = await open(t)
    const term = Buffer.from('term')
    const token = aToken({ terms: [term, term], metadata: { a: 'b' }, fingerprint: 'fp' })
    await tokens.create([token, aToken({ id: 'expired', expires_at: NOW + 1 })], NOW)
    const [row] = await tokens.read('tenant-a', [token.id], NOW)
    for (const stale of [{ version: 2 }, { seq: -1 }])
      await t.rejects(tokens.delete('tenant-a', token.id, NOW, { ...row!, ...stale }), {
        code: 'precondition_failed',
      })
    t.equal(await tokens.delete('tenant-a', token.id, NOW, row), true)
    t.equal(await tokens.delete('tenant-a', token.id, NOW, row), false)
    t.equal(await tokens.delete('tenant-a', token.id, NOW), false)
    t.equal(await tokens.delete('tenant-a', 'expired', NOW + 1), false)
    const query = { tenantId: 'tenant-a', now: NOW, visibility: 'all' as const }
    t.equal(await tokens.count(query), 0)
    t.equal(await tokens.count({ ...query, where: { kind: 'term', term } }), 0)
    t.equal(await tokens.count({ ...query, where: { kind: 'metadata', key: 'a', value: 'b' } }), 0)
    const [again] = await tokens.create([{ ...token, deduplicate: true }], NOW)
    t.equal(again?.kind, 'created', 'a deleted token has no duplicate')
  })

  await t.test('of several tokens with one fingerprint the oldest is found', async (t) => {
    const { tokens } = await open(t)
    const [oldest, newer] = [aToken({ fingerprint: 'fp' }), aToken({ fingerprint: 'fp' })]
    for (const token of [oldest, newer]) await tokens.create([token], NOW)
    const rowOf = async (id: string) => (await tokens.read('tenant-a', [id], NOW))[0]!
    // Wherever the engine puts it: it leaves the index, and comes back to it.
    for (const fingerprint of [null, 'fp'])
      await tokens.update(changing(await rowOf(oldest.id), { fingerprint }), NOW)
    const created = await tokens.create([aToken({ fingerprint: 'fp', deduplicate: true })], NOW)
    const other = aToken({ fingerprint: 'other' })
    await tokens.create([other], NOW)
    const update = changing(await rowOf(other.id), { fingerprint: 'fp' }, { deduplicate: true })
    t.match(
      [...created, await tokens.update(update, NOW)],
      Array(2).fill({ kind: 'duplicate', token: { id: oldest.id } }),
    )
  })

  await t.test(
    'deduplication finds the same fingerprint in the same container and tenant only',
    async (t) => {
      const { tokens } = await open(t)
      const first = aToken({ fingerprint: 'fp', deduplicate: true, sealed: Buffer.from('first') })
      await tokens.create([first], NOW)
      const like = (changes = {}) => aToken({ fingerprint: 'fp', deduplicate: true, ...changes })
      const [duplicate] = await tokens.create([like()], NOW)
      t.equal(duplicate?.kind === 'duplicate' && duplicate.token.id, first.id)
      t.ok(duplicate?.kind === 'duplicate' && Buffer.isBuffer(duplicate.token.sealed))
      t.equal(duplicate?.kind === 'duplicate' && duplicate.token.sealed.toString(), 'first')
      const others = [
        like({ container: '/pci/low/' }),
        like({ tenant_id: 'tenant-b' }),
        like({ fingerprint: 'other' }),
        like({ deduplicate: false }),
        like({ fingerprint: null }),
        like({ fingerprint: null }),
      ]
      const kinds = (await tokens.create(others, NOW)).map(({ kind }) => kind)
      t.strictSame(kinds, ['created', 'created', 'created', 'created', 'created', 'created'])
      const batch = await tokens.create([like({ fingerprint: 'n' }), like({ fingerprint: 'n' })], NOW)
      t.strictSame(
        batch.map(({ kind }) => kind),
        ['created', 'duplicate'],
        'inside one batch too',
      )
    },
  )

  await t.test('an expired token is never a duplicate', async (t) => {
    const { tokens } = await open(t)
    await tokens.create([aToken({ fingerprint: 'fp', expires_at: NOW + 5 })], NOW)
    const again = () => tokens.create([aToken({ fingerprint: 'fp', deduplicate: true })], NOW + 5)
    t.equal((await again())[0]?.kind, 'created')
    t.equal((await again())[0]?.kind, 'duplicate')
  })

  await t.test('64 racing creates of one fingerprint leave one token', async (t) => {
    const { tokens } = await open(t)
    const all = await Promise.all(
      Array.from({ length: 64 }, () =>
        tokens.create([aToken({ fingerprint: 'raced', deduplicate: true })], NOW),
      ),
    )
    const created = all.flat().filter(({ kind }) => kind === 'created')
    t.equal(created.length, 1)
    const ids = all.flat().map((one) => (one.kind === 'created' ? one.id : one.token.id))
    t.equal(new Set(ids).size, 1, 'all get the same id')
    t.equal(await tokens.count({ tenantId: 'tenant-a', now: NOW, visibility: 'all' }), 1)
  })

  await t.test('concurrent creates of all kinds are written as if each came alone', async (t) => {
    const { tokens } = await open(t)
    const [parent] = await tokens.create([aToken({ id: 'parent', fingerprint: 'known' })], NOW)
    const parentSeq = parent?.kind === 'created' ? parent.seq : 0
    const old = aToken({ id: 'expired', expires_at: NOW + 1, metadata: { of: 'old' } })
    await tokens.create([old, aToken({ id: 'in use' })], NOW)
    const alias = () => aToken({ id: 'in use', fallbackIds: ['parent', 'alias-1', 'alias-2'] })
    const once = () => aToken({ fingerprint: 'once', deduplicate: true })
    const calls = [
      [aToken({ metadata: { of: 'new' }, terms: [Buffer.from('term')] }), aToken()],
      [aToken({ id: 'expired', metadata: { of: 'new' } })],
      [aToken({ id: 'rejected', metadata: { of: 'new' } }), aToken({ id: 'in use' })],
      [alias(), alias()],
      [aToken({ fingerprint: 'known', deduplicate: true, parentSeq }), once(), once()],
      [aToken({ id: 'child', parentSeq })],
      [aToken({ id: 'orphan', parentSeq: 1_000_000 })],
    ]
    const results = await Promise.allSettled(calls.map((call) => tokens.create(call, NOW + 1)))
    const outcomes = results.map((result) =>
      result.status === 'fulfilled' ? result.value.map(({ kind }) => kind).join() : result.reason.code,
    )
    t.strictSame(outcomes, [
      'created,created',
      'created',
      'conflict',
      'created,created',
      'duplicate,created,duplicate',
      'created',
      'token_not_found',
    ])
    const ids = ['alias-1', 'alias-2', 'child', 'expired', 'rejected', 'orphan']
    const present = (await tokens.read('tenant-a', ids, NOW + 1)).map(({ id }) => id)
    t.strictSame(present.sort(), ['alias-1', 'alias-2', 'child', 'expired'])
    const count = (where?: SearchNode) =>
      tokens.count({ tenantId: 'tenant-a', now: NOW + 1, visibility: 'all', ...(where ? { where } : {}) })
    t.equal(await count(), 9)
    t.equal(await count({ kind: 'equals', field: 'container', value: '/pci/high/' }), 9)
    t.equal(await count({ kind: 'metadata', key: 'of', value: 'new' }), 2)
    t.equal(await count({ kind: 'metadata', key: 'of', value: 'old' }), 0)
    t.equal(await count({ kind: 'term', term: Buffer.from('term') }), 1)
    t.equal(await count({ kind: 'child', parentSeq }), 1)
  })

  await t.test('an update increments the version and replaces terms, metadata and groups', async (t) => {
    const { tokens } = await open(t)
    const [before, after] = [Buffer.from('before'), Buffer.from('after')]
    const token = aToken({ terms: [before], metadata: { a: '1', b: '2' } })
    await tokens.create([token], NOW)
    const [row] = await tokens.read('tenant-a', [token.id], NOW)
    const update = changing(
      row as TokenRow,
      {
        container: '/pci/low/',
        sealed: Buffer.from('sealed again'),
        metadata: { a: '3' },
        modified_by: 'application-2',
        modified_at: NOW + 1,
      },
      { terms: [after] },
    )
    t.strictSame(await tokens.update(update, NOW + 1), { kind: 'updated' })
    const [changed] = await tokens.read('tenant-a', [token.id], NOW + 1)
    t.strictSame(changed, { ...row, ...update.row, version: 2 })
    const count = (where: Parameters<typeof tokens.count>[0]['where']) =>
      tokens.count({ tenantId: 'tenant-a', now: NOW, visibility: 'all', ...(where ? { where } : {}) })
    t.equal(await count({ kind: 'term', term: before }), 0)
    t.equal(await count({ kind: 'term', term: after }), 1)
    t.equal(await count({ kind: 'metadata', key: 'a', value: '1' }), 0)
    t.equal(await count({ kind: 'metadata', key: 'b', value: '2' }), 0)
    t.equal(await count({ kind: 'metadata', key: 'a', value: '3' }), 1)
    t.equal(await count({ kind: 'equals', field: 'container', value: '/pci/high/' }), 0)
    t.equal(await count({ kind: 'equals', field: 'container', value: '/pci/low/' }), 1)
    t.strictSame(await tokens.update(update, NOW + 2), { kind: 'stale' })
    t.strictSame(await tokens.update({ ...update, row: { ...update.row, id: 'none' } }, NOW), {
      kind: 'gone',
    })
  })

  await t.test('of racing updates of one version, exactly one succeeds', async (t) => {
    const { tokens } = await open(t)
    const token = aToken()
    await tokens.create([token], NOW)
    const [row] = await tokens.read('tenant-a', [token.id], NOW)
    const all = await Promise.all(
      Array.from({ length: 16 }, () => tokens.update(changing(row as TokenRow, {}), NOW)),
    )
    t.strictSame(
      all.map(({ kind }) => kind).sort(),
      ['stale', 'updated'].flatMap((kind) => Array.from({ length: kind === 'stale' ? 15 : 1 }, () => kind)),
    )
  })

  await t.test(
    'an update that would create a duplicate returns the other token; no token duplicates itself',
    async (t) => {
      const { tokens } = await open(t)
      const [a, b] = [aToken({ fingerprint: 'a' }), aToken({ fingerprint: 'b' })]
      await tokens.create([a, b], NOW)
      const [row] = await tokens.read('tenant-a', [b.id], NOW)
      const deduplicate = { deduplicate: true }
      const response = await tokens.update(changing(row as TokenRow, { fingerprint: 'a' }, deduplicate), NOW)
      t.equal(response.kind === 'duplicate' && response.token.id, a.id)
      t.ok(response.kind === 'duplicate' && Buffer.isBuffer(response.token.sealed))
      t.strictSame(await tokens.read('tenant-a', [b.id], NOW), [row], 'nothing was changed')
      t.strictSame(await tokens.update(changing(row as TokenRow, {}, deduplicate), NOW), { kind: 'updated' })
    },
  )

  await t.test('the purge removes expired tokens and due ephemeral members, in batches', async (t) => {
    const { tokens } = await open(t)
    const term = Buffer.from('term')
    const expiring = Array.from({ length: 5 }, () =>
      aToken({ expires_at: NOW + 10, terms: [term], metadata: { a: 'b' } }),
    )
    const cards = Array.from({ length: 3 }, () =>
      aToken({ ephemeral: Buffer.from('cvc'), ephemeral_until: NOW + 10 }),
    )
    await tokens.create([...expiring, ...cards, aToken({ expires_at: NOW + 11 })], NOW)
    t.equal(await tokens.purge(NOW + 9, 100), 0)
    const [due] = await tokens.read('tenant-a', [cards[0]?.id as string], NOW + 10)
    t.equal(due?.ephemeral, null, 'not readable from that instant, purged or not')
    t.equal(await tokens.purge(NOW + 10, 2), 4)
    t.equal(await tokens.purge(NOW + 10, 100), 4)
    t.equal(await tokens.purge(NOW + 10, 100), 0)
    // Asked as of an earlier time, only what is really gone is absent.
    const earlier = { tenantId: 'tenant-a', now: NOW, visibility: 'all' as const }
    t.equal(await tokens.count(earlier), 4)
    t.equal(await tokens.count({ ...earlier, where: { kind: 'term', term } }), 0)
    const [card] = await tokens.read('tenant-a', [cards[0]?.id as string], NOW)
    t.match(card, { ephemeral: null, ephemeral_until: null, version: 1 })
  })
}
