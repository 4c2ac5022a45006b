import t from 'tap'
import { startApi } from './api.ts'

const api = await startApi(t)
const writer = (await api.application('private', ['token:create'])).key
const make = async (body: object) =>
  (await api.call('POST', '/tokens', { key: writer, body })).body.id as string

const number = '4242424242424242'
const card = await make({
  type: 'card',
  data: { number, expiration_month: 1, expiration_year: 2031, cvc: '987' },
})
const plain = await make({ data: 'plain text' })
const get = (id: string, key: string) => api.call('GET', `/tokens/${id}`, { key })
const rule = (priority: number, container: string, transform: string, permissions = ['token:read']) => ({
  description: `${transform} ${container}`,
  priority,
  container,
  transform,
  permissions,
})
const withRules = async (...rules: object[]) => (await api.application('private', [], rules)).key

t.test(
  '"Plain permissions hold on all containers, with an implied disclosure: … read … → mask"',
  async (t) => {
    const { key } = await api.application('private', ['token:read'])
    const { body } = await get(card, key)
    t.same(body.data, { number: 'XXXXXXXXXXXX4242', expiration_month: 1, expiration_year: 2031 })
    t.notOk('data' in (await get(plain, key)).body, '"or no data when the token has no mask"')
  },
)

t.test('"redact: no data … reveal: plaintext (a card\'s cvc too, until it expires)"', async (t) => {
  const redacted = await get(card, await withRules(rule(1, '/pci/', 'redact')))
  t.equal(redacted.status, 200)
  t.notOk('data' in redacted.body)
  const { body } = await get(card, await withRules(rule(1, '/pci/', 'reveal')))
  t.same(body.data, { number, expiration_month: 1, expiration_year: 2031, cvc: '987' })
})

t.test('"container covers that container and all below it … none → 403"', async (t) => {
  for (const [container, status] of [
    ['/', 200],
    ['/pci/', 200],
    ['/PCI/High/', 200],
    ['/pci/high/low/', 403],
    ['/pc/', 403],
    ['/general/', 403],
  ] as const)
    t.equal((await get(card, await withRules(rule(1, container, 'mask')))).status, status, container)
})

t.test('"the first that matches the token and grants the permission decides"', async (t) => {
  const key = await withRules(
    rule(30, '/', 'redact'),
    rule(10, '/pci/', 'reveal', ['token:update']),
    rule(20, '/pci/high/', 'mask'),
  )
  t.same((await get(card, key)).body.data.number, 'XXXXXXXXXXXX4242')
  t.notOk('data' in (await get(plain, key)).body)
})

t.test(
  '"Lists and searches return only what the caller may see, each token disclosed by its own rule."',
  async (t) => {
    const key = await withRules(
      rule(1, '/pci/', 'reveal', ['token:read', 'token:search']),
      rule(2, '/bank/', 'mask', ['token:read', 'token:search']),
    )
    for (const [method, path, options] of [
      ['GET', '/tokens', {}],
      ['GET', '/v2/tokens', {}],
      ['POST', '/tokens/search', { body: { query: 'type:card OR type:token' } }],
      ['POST', '/v2/tokens/search', { body: { query: 'type:card OR type:token' } }],
    ] as const) {
      const { status, body } = await api.call(method, path, { key, ...options })
      t.equal(status, 200, path)
      t.strictSame(
        body.data.map(({ id }: { id: string }) => id),
        [card],
        path,
      )
      t.equal(body.data[0].data.number, number)
      const total = path.startsWith('/v2/') ? undefined : 1
      t.equal(body.pagination.total_items, total, '"total_items counts what the caller may see"')
    }
  },
)

t.test('"a public application may create and update, not read"', async (t) => {
  const { key } = await api.application('public', ['token:create', 'token:update'])
  const { status, body } = await api.call('POST', '/tokens', { key, body: { data: 'x' } })
  t.equal(status, 201)
  t.equal((await get(body.id, key)).status, 403)
  t.equal(
    (await api.call('PATCH', `/tokens/${body.id}`, { key, body: { metadata: { a: '1' } } })).status,
    200,
  )
  t.equal((await api.call('POST', '/detokenize', { key, body: `{{ ${body.id} }}` })).status, 403)
})

t.test('"Moving a token needs token:update on both" containers', async (t) => {
  const id = await make({ data: 'x', containers: ['/a/'] })
  const key = await withRules(
    rule(1, '/a/', 'mask', ['token:update']),
    rule(2, '/b/', 'mask', ['token:update']),
  )
  const move = (to: string) => api.call('PATCH', `/tokens/${id}`, { key, body: { containers: [to] } })
  t.equal((await move('/c/')).status, 403)
  t.equal((await move('/b/')).status, 200)
})
