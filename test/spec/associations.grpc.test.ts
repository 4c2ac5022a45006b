import t from 'tap'
import { startApi } from './api.ts'

const api = await startApi(t)
const ALL = ['token:create', 'token:read', 'token:delete']
const { key } = await api.application('private', ALL)
const create = async (body: object = {}) =>
  (await api.call('POST', '/tokens', { key, body: { data: 'x', ...body } })).body.id as string
const associate = (parent: string, child: string, as = key) =>
  api.call('POST', `/tokens/${parent}/children/${child}`, { key: as })
const dissociate = (parent: string, child: string, as = key) =>
  api.call('DELETE', `/tokens/${parent}/children/${child}`, { key: as })
const list = (parent: string, query = '', as = key) =>
  api.call('GET', `/tokens/${parent}/children${query}`, { key: as })
const childrenOf = async (parent: string, query = '') =>
  (await list(parent, query)).body.data.map(({ id }: { id: string }) => id)
const rule = (container: string, permissions: string[], transform = 'mask') => ({
  description: 'r',
  priority: 1,
  container,
  transform,
  permissions,
})

t.test(
  '"A two-way association is made by creating a second association with the two ids swapped."',
  async (t) => {
    const [a, b] = [await create(), await create()]
    const created = await associate(a, b)
    t.equal(created.status, 204)
    t.equal(created.text, '')
    t.strictSame(await childrenOf(a), [b])
    t.strictSame(await childrenOf(b), [])
    t.equal((await associate(b, a)).status, 204)
    t.strictSame(await childrenOf(b), [a])
    t.equal((await dissociate(a, b)).status, 204)
    t.strictSame(await childrenOf(a), [])
    t.strictSame(await childrenOf(b), [a], 'the other way is another one')
    const path = `/logs?entity_id=${a}&entity_type=token_association`
    const { body } = await api.call('GET', path, { key: api.management })
    t.match(body.data, [{ operation: 'delete' }, { operation: 'create' }])
    t.equal(body.data.length, 2)
  },
)

t.test('"existing association → 409, missing one → 404, a token with itself → 400"', async (t) => {
  const [a, b] = [await create(), await create()]
  await associate(a, b)
  t.equal((await associate(a, b)).status, 409)
  t.equal((await dissociate(b, a)).status, 404)
  t.equal((await associate(a, a)).status, 400)
  t.strictSame(await childrenOf(a), [b])
  for (const [parent, child] of [
    ['unknown', b],
    [a, 'unknown'],
  ] as const) {
    t.equal((await associate(parent, child)).status, 404)
    t.equal((await dissociate(parent, child)).status, 404)
  }
  t.equal((await list('unknown')).status, 404)
  t.equal((await api.call('POST', '/tokens/unknown/children', { key, body: { data: 1 } })).status, 404)
  t.equal(
    (await api.call('POST', '/tokens/unknown/children', { key, body: { data: 1, id: 'x' } })).status,
    400,
  )
})

t.test('a POST without a body accepts any content type', async (t) => {
  for (const [headers, raw] of [
    [{ 'content-type': 'text/plain' }, ''],
    [{ 'content-type': 'application/json' }, '{}'],
  ] as const) {
    const [a, b] = [await create(), await create()]
    const response = await api.call('POST', `/tokens/${a}/children/${b}/`, { key, headers, raw })
    t.equal(response.status, 204, 'with a trailing slash too')
  }
})

t.test('"Create association | token:read on both parent and child"', async (t) => {
  const [a, b] = [await create({ containers: ['/a/'] }), await create({ containers: ['/b/'] })]
  const both = [rule('/a/', ['token:read']), { ...rule('/b/', ['token:read']), priority: 2 }]
  for (const rules of [both.slice(0, 1), both.slice(1)]) {
    const { key: half } = await api.application('private', [], rules)
    t.equal((await associate(a, b, half)).status, 403)
  }
  const { key: without } = await api.application('private', ['token:create', 'token:delete'])
  t.equal((await associate(a, b, without)).status, 403)
  t.strictSame(await childrenOf(a), [])
  const { key: whole } = await api.application('private', [], both)
  t.equal((await associate(a, b, whole)).status, 204)
  t.equal((await dissociate(a, b, whole)).status, 403, '"Delete association | token:delete"')
  t.strictSame(await childrenOf(a), [b])
})

t.test('"Create child token | token:create on the child, token:read on the parent"', async (t) => {
  const parent = await create({ containers: ['/p/'] })
  const body = { data: 'child', metadata: { a: 'b' }, containers: ['/c/'] }
  const child = (as: string, more: object = {}) =>
    api.call('POST', `/tokens/${parent}/children`, { key: as, body: { ...body, ...more } })
  const created = await child(key)
  t.equal(created.status, 201)
  t.match(created.body, {
    id: String,
    tenant_id: /^[0-9a-f-]{36}$/,
    type: 'token',
    containers: ['/c/'],
    created_by: /^[0-9a-f-]{36}$/,
    created_at: api.time(),
    metadata: { a: 'b' },
  })
  t.notOk('data' in created.body)
  t.match(created.headers.location, new RegExp(`/tokens/${created.body.id}$`))
  t.strictSame(await childrenOf(parent), [created.body.id])

  const rules = [rule('/p/', ['token:read']), { ...rule('/c/', ['token:create']), priority: 2 }]
  for (const some of [rules.slice(0, 1), rules.slice(1)]) {
    const { key: half } = await api.application('private', [], some)
    t.equal((await child(half)).status, 403)
  }
  const { key: whole } = await api.application('private', [], rules)
  t.equal((await child(whole)).status, 201)
  t.equal((await child(whole, { containers: ['/elsewhere/'] })).status, 403)

  const before = await childrenOf(parent)
  const wrong = await child(key, { type: 'card' })
  t.equal(wrong.status, 400, '"an error on validation failure"')
  t.equal((await child(key, { id: created.body.id })).status, 409)
  t.strictSame(await childrenOf(parent), before, 'and nothing is created')
})

t.test(
  '"List child tokens | id (array), type (array)": newest first, as far as the caller may read',
  async (t) => {
    const parent = await create()
    const ids: string[] = []
    for (let i = 0; i < 3; i++) {
      const { body } = await api.call('POST', `/tokens/${parent}/children`, {
        key,
        body: { data: `d${i}`, containers: [`/l/${i}/`] },
      })
      ids.unshift(body.id)
    }
    const card = await create({ type: 'card', data: { number: '4242424242424242' } })
    await associate(parent, card)
    t.strictSame(await childrenOf(parent), [card, ...ids])
    t.strictSame(await childrenOf(parent, '?type=card'), [card])
    t.strictSame(await childrenOf(parent, '?type=card&type=token&size=2&page=2'), ids.slice(1))
    t.strictSame(await childrenOf(parent, `?id=${ids[2]}&id=${card}&id=${parent}`), [card, ids[2]])
    t.strictSame(await childrenOf(parent, '?id=&page=1'), [], 'an empty id matches no token')
    t.strictSame((await list(parent, '?size=2')).body.pagination, {
      total_items: 4,
      page_number: 1,
      page_size: 2,
      total_pages: 2,
    })
    const rules = [
      rule('/l/1/', ['token:read'], 'reveal'),
      { ...rule('/general/high/', ['token:read']), priority: 2 },
    ]
    const { key: some } = await api.application('private', [], rules)
    const seen = (await list(parent, '', some)).body
    t.match(seen.data, [{ id: ids[1], data: 'd1', containers: ['/l/1/'], type: 'token' }])
    t.equal(seen.data.length, 1)
    t.equal(seen.pagination.total_items, 1)
    const masked = (await list(parent, '?type=card')).body.data
    t.match(masked, [{ data: { number: 'XXXXXXXXXXXX4242' } }])
  },
)

t.test('"GET /tokens/{id}/parents": newest first, as far as the caller may read', async (t) => {
  const child = await create({ containers: ['/c/'] })
  const mine = await create({ containers: ['/mine/'], mask: '{{ data | reveal: 0, 0 }}' })
  const theirs = await create({ containers: ['/theirs/'] })
  const parents = (of: string, query = '', as = key) =>
    api.call('GET', `/tokens/${of}/parents${query}`, { key: as })
  t.match((await parents(child)).body, { data: [], pagination: { total_items: 0 } })
  for (const parent of [mine, theirs]) await associate(parent, child)
  await associate(child, theirs)
  t.match((await parents(child)).body, {
    data: [{ id: theirs }, { id: mine }],
    pagination: { total_items: 2 },
  })
  t.match((await parents(child, '?size=1&page=2')).body.data, [{ id: mine }])
  t.match((await parents(theirs)).body.data, [{ id: child }])

  const rules = [rule('/c/', ['token:read']), { ...rule('/mine/', ['token:read'], 'reveal'), priority: 2 }]
  const { key: some } = await api.application('private', [], rules)
  const seen = (await parents(child, '', some)).body
  t.match(seen, { data: [{ id: mine, data: 'x' }], pagination: { total_items: 1 } })
  t.equal(seen.data.length, 1)
  t.not((await parents(child, '?disclosure=mask', some)).body.data[0].data, 'x')
  t.equal((await parents(theirs, '', some)).status, 403, 'the child too')
  t.equal((await parents('unknown')).status, 404)

  await dissociate(theirs, child)
  await api.call('DELETE', `/tokens/${mine}`, { key })
  t.strictSame((await parents(child)).body.data, [])
})

t.test('deleting a token removes its associations, also for a new token with its id', async (t) => {
  const [parent, child] = [await create({ id: 'parent' }), await create({ id: 'child' })]
  await associate(parent, child)
  await associate(child, parent)
  await api.call('DELETE', `/tokens/${child}`, { key })
  t.strictSame(await childrenOf(parent), [])
  await create({ id: 'child' })
  t.strictSame(await childrenOf(child), [])
  t.strictSame(await childrenOf(parent), [])
  t.equal((await associate(parent, child)).status, 204)
  const expires_at = new Date(api.clock.now() + 1_000).toISOString()
  await api.call('POST', `/tokens/${parent}/children`, { key, body: { data: 1, expires_at } })
  t.equal((await childrenOf(parent)).length, 2)
  api.clock.advance(1_000)
  t.strictSame(await childrenOf(parent), [child], 'an expired child is gone')
})
