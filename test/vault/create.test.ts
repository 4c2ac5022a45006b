import t from 'tap'
import type { TokenInput } from '../../src/sdk/index.ts'
import { ALL, CARD, failure, openTestVault, rule, START } from './kit.ts'

t.test('a created token shows what the token:create rule discloses', async (t) => {
  const { create, as } = await openTestVault(t)
  const input = { type: 'card', data: CARD }
  t.notOk('data' in (await create(input, as([], [rule('/pci/', 'redact', ['token:create'])]))))
  t.same((await create(input, as([], [rule('/pci/', 'reveal', ['token:create'])]))).data, CARD)
})

t.test('a created token has every member that was sent', async (t) => {
  const { create, vault, reveal } = await openTestVault(t)
  const sent = {
    id: 'my-own-id',
    type: 'token',
    data: { name: 'Ada', __proto__: null },
    mask: { name: '{{ data.name, reveal_last: 1 }}' },
    metadata: { a: '1' },
    search_indexes: ['{{ data.name }}'],
    fingerprint_expression: '{{ data.name }}',
    containers: ['/Team/A/'],
    expires_at: '8/26/2030 7:23:57 PM -07:00',
  }
  await create(sent)
  const token = await vault.get('my-own-id', reveal())
  t.match(token, {
    id: 'my-own-id',
    mask: sent.mask,
    metadata: sent.metadata,
    search_indexes: sent.search_indexes,
    fingerprint_expression: sent.fingerprint_expression,
    containers: ['/team/a/'],
    expires_at: '2030-08-27T02:23:57.000+00:00',
    data: { name: 'Ada' },
  })
  t.match(token.fingerprint, /^[1-9A-HJ-NP-Za-km-z]{40,}$/)
})

const deep = (levels: number): unknown => {
  let value: unknown = 1
  for (let i = 0; i < levels; i++) value = [value]
  return value
}

/**
 * Input, and the property path of the issue; what the schema says is in
 * test/invariants/validation.integration.test.ts, limits of members are in token-limits.integration.test.ts beside it.
 */
const REJECTED: readonly (readonly [name: string, input: object, path: string])[] = [
  ['data too deep', { data: deep(64) }, 'data'],
  ['a type called like an inherited member', { data: 1, type: 'constructor' }, 'type'],
  ['a card without number', { type: 'card', data: {} }, 'data.number'],
  ['a card that is text', { type: 'card', data: '4242424242424242' }, 'data'],
  ['an id that is the data', { data: '4242 4242', id: '42424242' }, 'id'],
  ['an id that is the data in hex', { data: 'Zanzibar', id: '5a616e7a69626172' }, 'id'],
  ['an id that holds a card number', { type: 'card', data: CARD, id: `order-${CARD.number}-1` }, 'id'],
  ['an id that holds a number in parts', { data: { ssn: '123-45-6789' }, id: 'u.123.45.6789' }, 'id'],
  ['an id that is the data backwards', { data: 'Zanzibar', id: 'rabiz-naZ' }, 'id'],
  ['an alias that does not parse', { data: 1, id: '{{ data | nope: }} }}' }, 'id'],
  ['a mask that does not parse', { data: 1, mask: '{{ data' }, 'mask'],
  [
    'a mask with a number inside that is no expression',
    { data: 1, mask: { a: { b: '{{ data |' } } },
    'mask.a.b',
  ],
  ['a mask that fails over the data', { data: 'x', mask: '{{ data | to_number }}' }, 'mask'],
  ['a metadata value that is null', { data: 1, metadata: { a: null } }, 'metadata.a'],
  ['an empty metadata key', { data: 1, metadata: { '': 'x' } }, 'metadata'],
  [
    'a search index that does not parse',
    { data: 1, search_indexes: ['{{ data }}', '{{'] },
    'search_indexes[1]',
  ],
  [
    'a fingerprint expression in error',
    { data: 1, fingerprint_expression: '{{ }}' },
    'fingerprint_expression',
  ],
  ['a malformed container', { data: 1, containers: ['a'] }, 'containers[0]'],
  ['an expiry in the past', { data: 1, expires_at: '2026-03-01T11:59:59Z' }, 'expires_at'],
  ['an expiry at this instant', { data: 1, expires_at: '2026-03-01T12:00:00Z' }, 'expires_at'],
]

t.test('invalid members are rejected by path, without their values, and nothing is stored', async (t) => {
  const { create, store, records, tenant } = await openTestVault(t)
  for (const [name, input, path] of REJECTED) {
    const error = await failure(create(input))
    t.match(error, { code: 'invalid' }, name)
    t.ok(error.errors?.[path], `${name}: ${JSON.stringify(error.errors)}`)
    t.notMatch(JSON.stringify(error.toProblem()), /4242/)
  }
  t.equal(await store.tokens.count({ tenantId: tenant, now: START, visibility: 'all' }), 0)
  t.same(records, [])
})

t.test('a rejection lists all issues of a request', async (t) => {
  const { create } = await openTestVault(t)
  const error = await failure(create({ type: 'card', data: {}, id: 'a', metadata: [], expires_at: 'x' }))
  t.same(Object.keys(error.errors ?? {}).sort(), ['data.number', 'expires_at', 'id', 'metadata'])
})

t.test('63 levels, an id with a short number of the data, and empty lists are accepted', async (t) => {
  const { create } = await openTestVault(t)
  await create({ data: deep(63) })
  t.equal((await create({ data: { order: '123456' }, id: 'order-123456' })).id, 'order-123456')
  const token = await create({ data: 1, containers: [], search_indexes: [] })
  t.same(token.containers, ['/general/high/'])
  t.same(token.search_indexes, [])
})

t.test('a member named __proto__ is metadata like any other', async (t) => {
  const { create, vault, as } = await openTestVault(t)
  const metadata = JSON.parse('{"__proto__":"x","constructor":"y"}')
  const { id } = await create({ data: 1, metadata })
  t.equal(JSON.stringify((await vault.get(id, as())).metadata), JSON.stringify(metadata))
})

t.test(
  'a create needs token:create on its container, and its denial is recorded without the id',
  async (t) => {
    const { create, as, records, store, tenant } = await openTestVault(t)
    const context = as([], [rule('/team/', 'mask', ['token:create'])])
    t.same((await create({ data: 1, containers: ['/team/a/'] }, context)).containers, ['/team/a/'])
    t.equal((await failure(create({ data: 1 }, context))).code, 'forbidden')
    t.equal((await failure(create({ data: 1, containers: ['/teams/'] }, context))).code, 'forbidden')
    t.equal((await failure(create({ data: 1 }, as(['token:read'])))).code, 'forbidden')
    t.equal(await store.tokens.count({ tenantId: tenant, now: START, visibility: 'all' }), 1)
    const wanted = { data: '4242424242424242', id: '4242424242424242' }
    t.equal((await failure(create(wanted, as(['token:read'])))).code, 'forbidden')
    const denied = records.filter(({ message }) => message === 'Token create denied')
    t.same(
      denied.map(({ entity_id }) => entity_id),
      ['', '', '', ''],
      'an id that was only wished for may be anything, and is not written down',
    )
  },
)

t.test('an alias that holds the data, or is no valid id, is replaced by a UUID', async (t) => {
  const { create } = await openTestVault(t)
  for (const id of [
    '{{ data.number }}',
    'c-{{ data.number }}',
    '{{ data.number | to_base16 }}',
    'abc-{{ data.number | to_base16 }}-x',
    '{{ data.number | to_base64 | remove: "=" }}',
    '{{ data.number | prepend: "a" | to_base64 | remove: "=" }}',
    '{{ data.number | prepend: "ab" | append: "cd" | to_base64 | remove: "=" }}',
    '{{ data.number | split: "" | join: "-" }}',
    '{{ data.nothing }}',
    '{{ data.cvc }}/{{ data }}',
  ])
    t.match((await create({ id, type: 'card', data: CARD })).id, /^[0-9a-f-]{36}$/)
})

t.test('a fingerprint is made when it is asked for, and compares within tenant and type', async (t) => {
  const { create, addTenant, as } = await openTestVault(t)
  t.notOk((await create({ data: 'x' })).fingerprint, 'are made only when asked for')
  const print = async (input: TokenInput, context = as()) => (await create(input, context)).fingerprint
  const asked = { data: 'value', fingerprint_expression: '{{ data }}' }
  const first = await print(asked)
  t.equal(await print(asked), first, 'equal values are equal')
  t.not(await print({ ...asked, data: 'other' }), first)
  t.not(await print(asked, as(ALL, [], await addTenant())), first, 'tenants differ')
  t.not(
    await print({
      type: 'locker',
      data: { name: 'value', pin: '1' },
      fingerprint_expression: '{{ data.name }}',
    }),
    first,
    'types differ',
  )
  t.notOk(
    await print({ data: {}, fingerprint_expression: '{{ data.absent }}' }),
    'nothing has no fingerprint',
  )
  const with_metadata = { data: 1, metadata: { a: 'value' }, fingerprint_expression: '{{ metadata.a }}' }
  t.equal(await print(with_metadata), first, 'metadata is at hand')
  const setting = as(ALL, [], await addTenant({ fingerprint_tokens: 'true' }))
  const card = await create({ type: 'card', data: CARD }, setting)
  t.ok(card.fingerprint, 'the tenant setting asks for them')
  const again = { ...CARD, cvc: '999' }
  t.equal(await print({ type: 'card', data: again }, setting), card.fingerprint, 'of the default expression')
})

t.test('fingerprints ignore the cvc', async (t) => {
  const { create } = await openTestVault(t)
  const fingerprint_expression = '{{ data.number }}{{ data.cvc }}'
  const first = await create({ type: 'card', data: CARD, fingerprint_expression })
  const second = await create({ type: 'card', data: { ...CARD, cvc: '999' }, fingerprint_expression })
  t.equal(first.fingerprint, second.fingerprint)
})

t.test('deduplication returns the existing token of the container and tenant', async (t) => {
  const { create, as, records, addTenant } = await openTestVault(t)
  const input = { type: 'card', data: CARD, deduplicate_token: true, metadata: { a: '1' } }
  const first = await create(input)
  t.ok(first.fingerprint, 'it implies a fingerprint')
  const second = await create({ ...input, metadata: { b: '2' } })
  t.same(second, first)
  t.equal((await create({ ...input, containers: ['/other/'] })).id === first.id, false, 'per container')
  t.equal((await create({ ...input, deduplicate_token: false })).id === first.id, false, 'only when asked')
  t.equal((await create(input, as(ALL, [], await addTenant()))).id === first.id, false, 'per tenant')
  t.match(
    records
      .filter(({ entity_id }) => entity_id === first.id)
      .map(({ operation, disclosure }) => [operation, disclosure]),
    [
      ['create', undefined],
      ['read', 'mask'],
    ],
  )
})

t.test('a duplicate shows data, metadata and expressions only to callers that may read it', async (t) => {
  const { create, as, records } = await openTestVault(t)
  const input = { type: 'card', data: CARD, deduplicate_token: true, metadata: { a: '1' } }
  const { id } = await create(input)
  t.not(
    (await create(input, as(['token:create']))).id,
    id,
    'a caller that does not see it gets a token of its own',
  )
  const writer = await create(input, as(['token:create', 'token:use']))
  t.equal(writer.id, id)
  for (const member of ['data', 'metadata', 'mask', 'fingerprint_expression', 'search_indexes'])
    t.notOk(member in writer, member)
  t.equal(records.at(-1)?.message, 'Card read denied')
  const reader = await create(input, as(['token:create'], [rule('/pci/', 'reveal', ['token:read'])]))
  t.same(reader.data, CARD)
  t.same(reader.metadata, { a: '1' })
})

t.test('no plaintext is in the row', async (t) => {
  const { create, store, tenant } = await openTestVault(t)
  const { id } = await create({
    type: 'card',
    data: CARD,
    mask: 'literal 5105105105105100',
    search_indexes: ['5105105105105100', '{{ data.number }}'],
    fingerprint_expression: '5105105105105100{{ data.number }}',
  })
  const [row] = await store.tokens.read(tenant, [id], START)
  const text = JSON.stringify(row, (_, value) =>
    value?.type === 'Buffer' ? Buffer.from(value).toString('latin1') : value,
  )
  t.notMatch(text, /4242424242|5105105105/)
})

t.test('a create above the limit of tokens is rejected', async (t) => {
  const { vault, as } = await openTestVault(t, { limits: { tokens: 2 } })
  t.equal((await failure(vault.create([{ data: 1 }, { data: 2 }, { data: 3 }], as()))).code, 'invalid')
})

t.test('the expressions of all tokens of a call share one budget', async (t) => {
  const { vault, as } = await openTestVault(t)
  const mask = '{{ data | reveal_last: 4 }}'.repeat(14)
  const slow = (count: number) => Array.from({ length: count }, () => ({ data: 'x'.repeat(3_000), mask }))
  t.equal((await vault.create(slow(1), as())).length, 1)
  t.equal((await failure(vault.create(slow(500), as()))).code, 'invalid')
})
