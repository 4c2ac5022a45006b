import t from 'tap'
import type { Json, Token } from '../../src/sdk/index.ts'
import { CARD, failure, openTestVault, rule, START } from './kit.ts'

const UUID = /^[0-9a-f-]{36}$/
const V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

t.test('members named __proto__ stay members', async (t) => {
  const { vault, as } = await openTestVault(t)
  const response = await vault.tokenize(JSON.parse('{"__proto__":{"polluted":"x"}}'), as())
  t.match(JSON.stringify(response), /^\{"__proto__":\{"polluted":"[0-9a-f-]{36}"\}\}$/)
  t.equal(Reflect.get({}, 'polluted'), undefined)
})

t.test('objects with data and only known members, or with a type, are definitions', async (t) => {
  const { vault, as } = await openTestVault(t)
  const definitions: Json[] = [
    { data: 'x' },
    { data: { a: 1 }, metadata: {} },
    { data: null, type: 'token' },
    { data: 'x', id: 'abc', containers: [], expires_at: null },
  ]
  for (const value of definitions)
    t.match(await vault.tokenize({ value }, as()), { value: { id: String, type: 'token' } })
  t.equal((await failure(vault.tokenize({ type: 'card', data: 'x', unknown: 1 }, as()))).code, 'invalid')
  const composites: readonly (readonly [Json, object])[] = [
    [{}, {}],
    [{ type: 'card' }, { type: UUID }],
    [
      { data: 'x', note: 'y' },
      { data: UUID, note: UUID },
    ],
    [
      { data: 'x', type: 7, note: 'y' },
      { data: UUID, type: 7, note: UUID },
    ],
    [[], []],
  ]
  for (const [value, result] of composites) t.match(await vault.tokenize({ value }, as()), { value: result })
})

t.test('one invalid member stores nothing, and is reported by path', async (t) => {
  const { vault, as, store, tenant } = await openTestVault(t)
  const body = { a: 'fine', list: ['fine', { type: 'card', data: { number: '4242424242424241' } }] }
  const error = await failure(vault.tokenize(body, as()))
  t.same(error.errors, { 'list[1].data.number': ['must pass the Luhn check'] })
  t.equal(
    (
      await failure(
        vault.tokenize(
          [
            { data: 1, id: 'same' },
            { data: 2, id: 'same' },
          ],
          as(),
        ),
      )
    ).code,
    'conflict',
  )
  const partly = as([], [rule('/a/', 'mask', ['token:create'])])
  const destinations = [
    { data: 'x', containers: ['/a/'] },
    { data: 'y', containers: ['/b/'] },
  ]
  t.equal((await failure(vault.tokenize(destinations, partly))).code, 'forbidden')
  t.equal(await store.tokens.count({ tenantId: tenant, now: START, visibility: 'all' }), 0)
})

t.test('depth and count are limited', async (t) => {
  const { vault, as } = await openTestVault(t, { limits: { tokens: 3, depth: 4 } })
  t.equal((await failure(vault.tokenize([[[[['x']]]]], as()))).code, 'invalid')
  t.match(await vault.tokenize([[[['x']]]], as()), [[[[UUID]]]])
  t.equal((await failure(vault.tokenize(['1', '2', '3', '4'], as()))).code, 'invalid')
})

t.test('equal values of one body deduplicate when the tenant setting is on', async (t) => {
  const { vault, as, addTenant } = await openTestVault(t)
  const context = as(undefined, [], await addTenant({ deduplicate_tokens: 'true' }))
  const ids = (await vault.tokenize(['x', 'y', 'x'], context)) as string[]
  t.equal(ids[0], ids[2])
  t.not(ids[0], ids[1])
})

t.test('generated ids of one call begin alike, those of two do not', async (t) => {
  const { vault, as } = await openTestVault(t)
  const starts = async (...values: string[]) =>
    ((await vault.tokenize(values, as())) as string[]).map((id) => {
      t.match(id, V4)
      return id.slice(0, 8)
    })
  const [first, ...others] = await starts('a', 'b', 'c')
  t.same(others, [first, first])
  t.not((await starts('d'))[0], first)
})

t.test('a redacting rule returns a definition without data and mask', async (t) => {
  const { vault, as } = await openTestVault(t)
  const context = as([], [rule('/', 'redact', ['token:create'])])
  const record = (await vault.tokenize({ type: 'card', data: CARD }, context)) as unknown as Token
  t.notOk('data' in record || 'mask' in record)
})

t.test('each created token has its audit record', async (t) => {
  const { vault, as, records } = await openTestVault(t)
  await vault.tokenize(['a', { type: 'card', data: CARD }], as())
  t.same(
    records.map(({ message }) => message),
    ['Token created', 'Card created'],
  )
})
