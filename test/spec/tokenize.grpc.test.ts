import t from 'tap'
import { startApi } from './api.ts'

const api = await startApi(t)
const { key } = await api.application('private', ['token:create', 'token:read'])
const tokenize = (body: unknown) => api.call('POST', '/tokenize', { key, body })

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const card = {
  type: 'card',
  data: { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' },
}
const maskedCard = { number: 'XXXXXXXXXXXX4242', expiration_month: 12, expiration_year: 2030 }

t.test('"A token definition object: returns the created token record."', async (t) => {
  const sent = {
    type: 'token',
    data: 'plain',
    metadata: { color: 'red' },
    search_indexes: ['{{ data }}'],
    fingerprint_expression: '{{ data }}',
  }
  const { status, body } = await tokenize(sent)
  t.equal(status, 200)
  t.match(body, {
    id: uuid,
    tenant_id: uuid,
    type: 'token',
    metadata: { color: 'red' },
    search_indexes: ['{{ data }}'],
    fingerprint_expression: '{{ data }}',
    created_by: uuid,
    created_at: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/,
  })
  t.notOk('data' in body, '"Not returned when a `token` is created."')
})

t.test('"mask: Returned for a created `card` … The cvc is not returned."', async (t) => {
  const { status, body } = await tokenize(card)
  t.equal(status, 200)
  t.strictSame(body.mask, maskedCard)
  t.equal(
    body.fingerprint_expression,
    '{{ data.number }}',
    '"For `card`, the default expression is {{ data.number }}."',
  )
  t.notMatch(JSON.stringify(body), /4242424242424242|"123"|cvc/)
})

t.test('"Every plain string member is replaced by the id of the token created for it."', async (t) => {
  const { status, body } = await tokenize({ first: 'Ada', last: 'Lovelace' })
  t.equal(status, 200)
  t.match(body, { first: uuid, last: uuid })
  const { body: read } = await api.call('POST', '/detokenize', {
    key: await api.revealing(),
    body: { a: `{{ ${body.first} }}` },
  })
  t.same(read, { a: 'Ada' })
})

t.test('"Other objects and arrays keep their keys and positions … at any depth."', async (t) => {
  const sent = { a: ['x', { b: 'y', n: 1, f: false, z: null, e: {}, l: [] }], c: card }
  const { status, body } = await tokenize(sent)
  t.equal(status, 200)
  t.match(body, {
    a: [uuid, { b: uuid, n: 1, f: false, z: null, e: {}, l: [] }],
    c: { id: uuid, type: 'card' },
  })
  t.strictSame(Object.keys(body), ['a', 'c'])
})

t.test(
  '"For a `card` inside array or composite tokenize responses [data] is present with the number masked."',
  async (t) => {
    const { body } = await tokenize([card, 'x'])
    t.strictSame(body[0].data, maskedCard)
    t.notOk('mask' in body[0])
    t.match(body[1], uuid)
  },
)

t.test('"Several token types can be mixed in one request."', async (t) => {
  const bank = { type: 'bank', data: { routing_number: '021000021', account_number: '1234567890' } }
  const { body } = await tokenize({ card, bank, token: { type: 'token', data: 1 } })
  t.match(body, { card: { type: 'card' }, bank: { type: 'bank' }, token: { type: 'token' } })
})

t.test('"{}, [], numbers, booleans and null are valid /tokenize bodies" (completions §12)', async (t) => {
  for (const sent of [{}, [], 7, true, null]) {
    const { status, body } = await tokenize(sent)
    t.equal(status, 200)
    t.strictSame(body, sent)
  }
  t.match((await tokenize('secret')).body, uuid)
})

t.test('"Permission token:create, required on each destination container"', async (t) => {
  const { key: rules } = await api.application(
    'private',
    [],
    [
      {
        description: 'cards only',
        priority: 1,
        container: '/pci/',
        transform: 'mask',
        permissions: ['token:create'],
      },
    ],
  )
  t.equal((await api.call('POST', '/tokenize', { key: rules, body: card })).status, 200)
  t.equal((await api.call('POST', '/tokenize', { key: rules, body: { card, other: 'general' } })).status, 403)
  const moved = { data: 'x', type: 'token', containers: ['/pci/low/'] }
  t.equal((await api.call('POST', '/tokenize', { key: rules, body: moved })).status, 200)
})
