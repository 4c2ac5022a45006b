import t from 'tap'
import { ALL, CARD, failure, MASKED_CARD, openTestVault, rule, START } from './kit.ts'

t.test('data, mask and metadata merge, the rest is replaced', async (t) => {
  const { create, vault, reveal, clock } = await openTestVault(t)
  const { id } = await create({
    data: { a: 1, b: { c: 2, d: 3 }, list: [1, 2] },
    mask: { a: '{{ data.a }}', b: '{{ data.b.c }}' },
    metadata: { keep: 'k', drop: 'd', change: 'old' },
    search_indexes: ['{{ data.a }}'],
    containers: ['/one/'],
    expires_at: '2030-01-01',
  })
  clock.at += 5000
  const token = await vault.update(
    id,
    {
      data: { b: { d: null, e: 4 }, list: [9] },
      mask: { b: null, z: 'Z' },
      metadata: { drop: null as unknown as string, change: 'new', add: 'a' },
      search_indexes: ['{{ data.b.e }}'],
      containers: ['/Two/'],
      fingerprint_expression: '{{ data.a }}',
      expires_at: '2031-01-01',
    },
    reveal(),
  )
  t.same(token.data, { a: 1, b: { c: 2, e: 4 }, list: [9] })
  t.same(token.mask, { a: '{{ data.a }}', z: 'Z' })
  t.same(token.metadata, { keep: 'k', change: 'new', add: 'a' })
  t.same(token.search_indexes, ['{{ data.b.e }}'])
  t.same(token.containers, ['/two/'])
  t.equal(token.expires_at, '2031-01-01T00:00:00.000+00:00')
  t.ok(token.fingerprint)
  t.equal(token.created_at, '2026-03-01T12:00:00.000+00:00')
  t.equal(token.modified_at, '2026-03-01T12:00:05.000+00:00')
  t.ok(token.modified_by)
  t.same(await vault.get(id, reveal()), token)
})

t.test('an empty patch changes only the modification fields', async (t) => {
  const { create, vault, reveal, as } = await openTestVault(t)
  const sent = { type: 'card', data: CARD, metadata: { a: '1' }, expires_at: '2030-01-01' }
  const { id } = await create(sent)
  const before = await vault.get(id, reveal())
  const { modified_at: _at, modified_by: _by, ...after } = await vault.update(id, {}, reveal())
  t.same(after, before)
  t.same((await vault.update(id, {}, as())).data, MASKED_CARD, 'a plain permission returns masked data')
})

t.test('null restores defaults, except for data', async (t) => {
  const { create, vault, reveal } = await openTestVault(t)
  const { id } = await create({
    type: 'card',
    data: CARD,
    mask: 'X',
    metadata: { a: '1' },
    search_indexes: ['{{ data.number }}'],
    fingerprint_expression: '{{ data.number }}!',
    containers: ['/own/'],
    expires_at: '2030-01-01',
  })
  const nothing = {
    mask: null,
    metadata: null,
    search_indexes: null,
    fingerprint_expression: null,
    containers: null,
    expires_at: null,
  }
  const token = await vault.update(id, nothing, reveal())
  t.match(token, { mask: { number: '{{ data.number | reveal_last: 4 }}' }, containers: ['/pci/high/'] })
  t.equal(token.fingerprint_expression, '{{ data.number }}')
  for (const member of ['metadata', 'search_indexes', 'fingerprint', 'expires_at'])
    t.notOk(member in token, member)
  t.same((await failure(vault.update(id, { data: null }, reveal()))).errors, {
    data: ['must not be removed'],
  })
})

t.test('an update validates the merged token, and a rejected patch changes nothing', async (t) => {
  const { create, vault, reveal } = await openTestVault(t)
  const { id } = await create({ type: 'card', data: CARD, metadata: { a: '1' } })
  const before = await vault.get(id, reveal())
  const rejected = [
    [{ data: { number: null } }, 'data.number'],
    [{ data: { number: '4242424242424241' } }, 'data.number'],
    [{ data: 'text' }, 'data'],
    [{ mask: '{{' }, 'mask'],
    [{ metadata: { b: 7 } }, 'metadata.b'],
    [{ metadata: Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`k${i}`, 'v'])) }, 'metadata'],
    [{ containers: ['x'] }, 'containers[0]'],
    [{ expires_at: '2020-01-01' }, 'expires_at'],
  ] as const
  for (const [patch, path] of rejected) {
    const error = await failure(vault.update(id, patch as never, reveal()))
    t.equal(error.code, 'invalid')
    t.ok(error.errors?.[path], `${path}: ${JSON.stringify(error.errors)}`)
  }
  t.same(await vault.get(id, reveal()), before)
})

t.test('members named __proto__ are merged like any other', async (t) => {
  const { create, vault, reveal } = await openTestVault(t)
  const { id } = await create({ data: JSON.parse('{"__proto__":{"a":1}}') })
  const token = await vault.update(id, { data: JSON.parse('{"__proto__":{"polluted":2}}') }, reveal())
  t.equal(JSON.stringify(token.data), '{"__proto__":{"a":1,"polluted":2}}')
  t.equal(Reflect.get({}, 'polluted'), undefined)
})

t.test('an unchanged cvc keeps its expiry, a new one gets a new expiry', async (t) => {
  const { create, vault, reveal, clock } = await openTestVault(t)
  const { id } = await create({ type: 'card', data: CARD })
  const cvc = async () => ((await vault.get(id, reveal())).data as { cvc?: string }).cvc
  clock.at = START + 3_000_000
  await vault.update(id, { data: { expiration_year: 2031 } }, reveal())
  t.equal(await cvc(), '123')
  clock.at = START + 3_600_000
  t.equal(await cvc(), undefined, 'an update of something else does not prolong it')
  await vault.update(id, { data: { cvc: '456' } }, reveal())
  clock.at += 3_599_999
  t.equal(await cvc(), '456')
  await vault.update(id, { data: { cvc: null } as never }, reveal())
  t.equal(await cvc(), undefined)
})

t.test('a caller that does not see the data cannot change its expressions', async (t) => {
  const { create, vault, as, records } = await openTestVault(t)
  const token = await create({ type: 'card', data: CARD })
  const masked = ['token:create', 'token:read', 'token:search', 'token:update'] as const
  const writers = [
    as([...masked]),
    as([], [rule('/', 'mask', [...masked, 'token:use'])]),
    as([], [rule('/', 'redact', [...masked])]),
    as(['token:update'], [rule('/elsewhere/', 'reveal', ['token:read', 'token:update', 'token:use'])]),
  ]
  for (const writer of writers)
    for (const patch of [
      { mask: { number: '{{ data.number }}' } },
      { mask: '{{ data.cvc }}' },
      { fingerprint_expression: '{{ data.number | slice: 0 }}' },
      { search_indexes: ['{{ data.number | slice: 0 }}'] },
    ])
      t.equal((await failure(vault.update(token.id, patch, writer))).code, 'forbidden', JSON.stringify(patch))
  t.equal(records.filter(({ message }) => message === 'Card update denied').length, 16)
  t.same((await vault.get(token.id, as())).mask, token.mask)
  // what is not changed may be sent back, and all else is free
  const echoed = { mask: token.mask!, metadata: { a: 'b' }, data: { expiration_month: 1 } }
  t.match(await vault.update(token.id, echoed, writers[0]!), {
    metadata: { a: 'b' },
    data: { number: 'XXXXXXXXXXXX4242', expiration_month: 1 },
  })
})

t.test('a caller that sees the data by any permission may change its mask', async (t) => {
  const { create, vault, as } = await openTestVault(t)
  for (const writer of [
    as(['token:update', 'token:use']),
    as([], [rule('/', 'reveal', ['token:update'])]),
    as(['token:update'], [rule('/pci/', 'reveal', ['token:read'])]),
  ]) {
    const { id } = await create({ type: 'card', data: CARD })
    t.match(await vault.update(id, { mask: '{{ data.number }}' }, writer), { mask: '{{ data.number }}' })
  }
})

t.test('fingerprint and search terms follow the data', async (t) => {
  const { create, vault, reveal } = await openTestVault(t)
  const idsOf = async (query: string) =>
    (await vault.list({ query }, { kind: 'offset', page: 1, size: 10 }, reveal(), 'token:search')).total
  const { id, fingerprint } = await create({
    data: 'old',
    search_indexes: ['{{ data }}'],
    fingerprint_expression: '{{ data }}',
  })
  t.equal(await idsOf('data:old'), 1)
  const token = await vault.update(id, { data: 'new' }, reveal())
  t.ok(token.fingerprint)
  t.not(token.fingerprint, fingerprint)
  t.same([await idsOf('data:old'), await idsOf('data:new')], [0, 1])
  t.same([await idsOf(`fingerprint:${fingerprint}`), await idsOf(`fingerprint:${token.fingerprint}`)], [0, 1])
})

t.test('an update that would make a duplicate returns the existing token and changes nothing', async (t) => {
  const { create, vault, reveal, as } = await openTestVault(t)
  const first = await create({ data: 'one', deduplicate_token: true })
  const second = await create({ data: 'two', deduplicate_token: true })
  const response = await vault.update(second.id, { data: 'one', deduplicate_token: true }, reveal())
  t.equal(response.id, first.id)
  t.equal(response.data, 'one')
  t.equal((await vault.get(second.id, reveal())).data, 'two')
  const see = as(['token:update'], [rule('/', 'reveal', ['token:use'])])
  const blind = await vault.update(second.id, { data: 'one', deduplicate_token: true }, see)
  t.equal(blind.id, first.id)
  t.notOk('fingerprint_expression' in blind)
  const itself = await vault.update(second.id, { data: 'two', deduplicate_token: true }, reveal())
  t.equal(itself.id, second.id, 'a token is not its own duplicate')
})

t.test('plaintext that an update discloses has a read record of its own', async (t) => {
  const { create, vault, as, reveal, records } = await openTestVault(t)
  const { id } = await create({ data: 1 })
  const operations = () =>
    records.splice(0).map(({ operation, disclosure }) => `${operation} ${disclosure ?? ''}`.trim())
  operations()
  await vault.update(id, {}, as(ALL))
  t.same(operations(), ['update'])
  await vault.update(id, {}, reveal())
  t.same(operations(), ['update', 'read reveal'])
})
