import t from 'tap'
import type { Json } from '../../src/sdk/index.ts'
import { CARD, failure, MASKED_CARD, openTestVault, rule } from './kit.ts'

t.test('strings are evaluated at any depth, shape and names stay', async (t) => {
  const { create, vault, reveal } = await openTestVault(t)
  const { id } = await create({ type: 'card', data: CARD })
  const plain = await create({ data: 'Ada' })
  const body = {
    number: `{{ ${id} | json: "$.number" }}`,
    whole: `{{${id}}}`,
    text: `Dear {{ ${plain.id} }}, {{${plain.id}}}!`,
    [`{{${plain.id}}}`]: [1, null, true, { deep: [`{{ ${plain.id} }}`] }],
    last: `{{ ${id} | json: "$.number" | last4 }}`,
  }
  t.same(await vault.detokenize(body, reveal()), {
    number: CARD.number,
    whole: CARD,
    text: 'Dear Ada, Ada!',
    [`{{${plain.id}}}`]: [1, null, true, { deep: ['Ada'] }],
    last: '4242',
  })
  t.equal(await vault.detokenize(`{{ ${plain.id} }}`, reveal()), 'Ada')
})

t.test('the whole token is available', async (t) => {
  const { create, vault, reveal } = await openTestVault(t)
  const { id } = await create({ data: 'x', metadata: { a: '1' } })
  t.match(await vault.detokenize(`{{ token: ${id} }}`, reveal()), {
    id,
    type: 'token',
    data: 'x',
    metadata: { a: '1' },
  })
  t.equal(await vault.detokenize(`{{ token: ${id} | json: "$.metadata.a" }}`, reveal()), '1')
})

t.test('each value is disclosed by its token:read rule', async (t) => {
  const { create, vault, as } = await openTestVault(t)
  const card = await create({ type: 'card', data: CARD })
  const locker = await create({ type: 'locker', data: { name: 'Ada', pin: '9876' } })
  const secret = await create({ data: 'secret', containers: ['/redacted/'] })
  const context = as(
    ['token:read'],
    [rule('/redacted/', 'redact', ['token:read'], 1), rule('/pii/', 'reveal', ['token:read'], 2)],
  )
  t.same(
    await vault.detokenize(
      [card.id, locker.id, secret.id].map((id) => `{{ ${id} }}`),
      context,
    ),
    [MASKED_CARD, { name: 'Ada' }, null],
  )
  t.equal(await vault.detokenize(`[{{ ${secret.id} }}]`, context), '[]')
  t.notMatch(JSON.stringify(await vault.detokenize(`{{ token: ${secret.id} }}`, context)), /secret/)
})

t.test('errors report the places of their expressions, and no token or text', async (t) => {
  const { create, vault, as, reveal } = await openTestVault(t)
  const open = await create({ data: 'Ada' })
  const closed = await create({ data: 'Ada', containers: ['/closed/'] })
  const at = async (body: Json, context = reveal()) => (await failure(vault.detokenize(body, context))).errors
  const body = {
    card: { 'a/b': '{{ gone }}' },
    list: [`{{ ${open.id} }}`, 'x {{ gone }}'],
    last: '{{ lost }}',
  }
  t.same(await at(body), {
    '/card/a~1b': ['token not found'],
    '/list/1': ['token not found'],
    '/last': ['token not found'],
  })
  t.same(
    await at(
      [`{{ ${open.id} }}`, `{{ ${closed.id} }}`],
      as([], [rule('/general/', 'reveal', ['token:read'], 1)]),
    ),
    {
      '/1': ['token not allowed'],
    },
  )
  t.match(await at({ a: 1, b: `{{ ${open.id} | nofilter }}` }), { '/b': [/nofilter/] })
  t.match(await at({ a: 1, b: [`{{ ${open.id} | json: '$.x' | upcase | json: '$.[' }}`] }), {
    '/b/0': [String],
  })
  t.same(Object.keys((await at(`{{ gone }}`)) ?? {}), ['/'])
  t.equal(Object.keys((await at(Array(50).fill('{{ gone }}'))) ?? {}).length, 20, 'twenty at most')
})

t.test('values are never evaluated again', async (t) => {
  const { create, vault, reveal } = await openTestVault(t)
  const inner = await create({ data: 'inner secret' })
  const outer = await create({ data: `{{ ${inner.id} }}` })
  t.equal(await vault.detokenize(`{{ ${outer.id} }}`, reveal()), `{{ ${inner.id} }}`)
  t.equal(await vault.detokenize(`> {{ ${outer.id} }}`, reveal()), `> {{ ${inner.id} }}`)
})

t.test('unknown ids and syntax errors are invalid expressions, denied tokens forbidden', async (t) => {
  const { create, vault, as, reveal, records } = await openTestVault(t)
  const { id } = await create({ data: 1 })
  records.splice(0)
  for (const text of ['{{ unknown }}', '{{', '{{ }}', `{{ ${id} | no_such_filter }}`, `{{ ${id}`])
    t.equal(
      (await failure(vault.detokenize([`{{ ${id} }}`, text], reveal()))).code,
      'invalid_expression',
      text,
    )
  t.same(records, [])
  t.equal((await failure(vault.detokenize(`{{ ${id} }}`, as(['token:use'])))).code, 'forbidden')
  t.match(records, [{ operation: 'read', message: 'Token read denied', entity_id: id }])
})

t.test('each token has one record', async (t) => {
  const { create, vault, reveal, records } = await openTestVault(t)
  const { id } = await create({ type: 'card', data: CARD })
  records.splice(0)
  await vault.detokenize([`{{ ${id} }}`, `{{ ${id} | json: "$.number" }}`], reveal())
  t.match(records, [{ entity_id: id, entity_type: 'card', operation: 'read', message: 'Card retrieved' }])
  t.equal(records.length, 1)
})

t.test('bodies without expressions are returned unchanged', async (t) => {
  const { vault, as } = await openTestVault(t)
  const bodies: Json[] = ['x', 1, null, {}, [], { a: ['{% if %}', '}}'] }]
  for (const body of bodies) t.same(await vault.detokenize(body, as()), body)
  const proto = JSON.parse('{"__proto__":{"a":"{{ \'x\' }}"}}')
  t.equal(JSON.stringify(await vault.detokenize(proto, as())), '{"__proto__":{"a":"x"}}')
})

t.test('the result is limited in size', async (t) => {
  const { create, vault, reveal } = await openTestVault(t, { limits: { detokenized: 10_000, depth: 4 } })
  const { id } = await create({ data: 'x'.repeat(3000) })
  const expression = `{{ ${id} }}`
  t.equal(String(await vault.detokenize(expression, reveal())).length, 3000)
  t.equal((await failure(vault.detokenize(expression.repeat(4), reveal()))).code, 'too_large')
  t.equal(
    (await failure(vault.detokenize([expression, expression, expression, expression], reveal()))).code,
    'too_large',
    'repeated texts count',
  )
  t.equal(
    (await failure(vault.detokenize([`{{ ${id} | pad_left: 9999, 'x' }}`, expression], reveal()))).code,
    'too_large',
  )
  t.equal((await failure(vault.detokenize([[[[[expression]]]]], reveal()))).code, 'invalid')
})
