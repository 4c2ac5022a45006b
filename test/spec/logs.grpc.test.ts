import t from 'tap'
import { startApi } from './api.ts'

const api = await startApi(t)
const key = api.management
const { key: tokens } = await api.application('private', ['token:create', 'token:read', 'token:delete'])
const get = async (path: string, as = key) => api.call('GET', path, { key: as })

interface Log {
  readonly entity_type: string
  readonly entity_id: string
  readonly operation: string
  readonly message: string
  readonly created_at: string
  readonly trace_id?: string
  readonly disclosure?: string
}

t.test('"Every disclosure has its record in /logs?entity_id=<token id>": at once', async (t) => {
  const { body: token } = await api.call('POST', '/tokens', { key: tokens, body: { data: 'a' } })
  const once = { key: tokens, once: true }
  await api.call('GET', `/tokens/${token.id}`, once)
  await api.call('POST', '/detokenize', { ...once, body: `{{ ${token.id} }}` })
  await api.call('DELETE', `/tokens/${token.id}`, { key: tokens })
  const { body } = await get(`/logs?entity_id=${token.id}`)
  t.strictSame(
    body.data.map(({ operation }: Log) => operation),
    ['delete', 'read', 'read', 'create'],
    'newest first',
  )
  t.strictSame(body.pagination, { total_items: 4, page_number: 1, page_size: 20, total_pages: 1 })
  t.match(body.data[3], {
    tenant_id: /^[0-9a-f-]{36}$/,
    actor_id: /^[0-9a-f-]{36}$/,
    actor_type: 'application',
    entity_type: 'token',
    entity_id: token.id,
    operation: 'create',
    message: 'Token created',
    created_at: api.time(),
  })
  t.notMatch(JSON.stringify(body), /journal|hash|seq/)
})

t.test('"The record of a token that was read or used has disclosure"', async (t) => {
  const rules = (['reveal', 'mask', 'redact'] as const).map((transform, index) => ({
    description: transform,
    priority: index + 1,
    container: `/${transform}/`,
    transform,
    permissions: ['token:create', 'token:read', 'token:search'],
  }))
  const { key, id: actor } = await api.application('private', [], rules)
  const ids = await Promise.all(
    rules.map(async ({ container }) => {
      const data = { number: '4242424242424242' }
      const card = { type: 'card', data, containers: [container], search_indexes: ['{{ data.number }}'] }
      return (await api.call('POST', '/tokens', { key, body: card })).body.id
    }),
  )
  const disclosures = async (query: string) =>
    (await get(`/logs?actor_id=${actor}&operation=read&${query}`)).body.data.map(
      ({ disclosure, message }: Log) => `${disclosure} ${message}`,
    )
  const shown = [['reveal Card retrieved'], ['mask Card retrieved'], ['redact Card retrieved']]
  for (const id of ids) await api.call('GET', `/tokens/${id}`, { key, once: true })
  for (const [index, id] of ids.entries()) t.strictSame(await disclosures(`entity_id=${id}`), shown[index])

  api.clock.advance(1_000)
  const body = { query: 'data:4242424242424242' }
  const found = await api.call('POST', '/v2/tokens/search', { key, body, once: true })
  t.equal(found.body.data.length, 3)
  const { data: records } = (
    await get(`/logs?actor_id=${actor}&start_date=${encodeURIComponent(api.time())}`)
  ).body
  t.strictSame(
    records.map(({ disclosure }: Log) => disclosure).toSorted(),
    ['mask', 'match', 'match', 'match', 'reveal'],
    '"A token of such a page that shows a value has a record of each."',
  )
  t.equal(new Set(records.map(({ trace_id, created_at }: Log) => `${trace_id} ${created_at}`)).size, 1)
  t.equal(records[0].trace_id, found.headers['svc-trace-id'])
})

t.test('"GET /logs takes actor_id and operation too; filters hold together"', async (t) => {
  const { key: first, id: actor } = await api.application('private', ['token:create', 'token:delete'])
  const { body: token } = await api.call('POST', '/tokens', { key: first, body: { data: 'd' } })
  await api.call('DELETE', `/tokens/${token.id}`, { key: first })
  const operations = async (query: string) =>
    (await get(`/logs?${query}`)).body.data.map(({ operation }: Log) => operation)
  t.strictSame(await operations(`actor_id=${actor}`), ['delete', 'create'])
  t.strictSame(await operations(`actor_id=${actor}&operation=create`), ['create'])
  t.strictSame(await operations(`actor_id=${actor}&operation=create&entity_type=card`), [])
  t.strictSame(await operations(`actor_id=${token.id}`), [])
  t.strictSame(await operations('operation=delete&size=1'), ['delete'])
  t.strictSame(await operations(`actor_id=&operation=&entity_id=${token.id}`), ['delete', 'create'])
  for (const query of ['operation=Read', `operation=${'x'.repeat(51)}`, `actor_id=${'x'.repeat(401)}`]) {
    const response = await get(`/logs?${query}`)
    t.equal(response.status, 400, query)
    t.ok(response.body.errors[query.split('=')[0] as string], query)
  }
})

t.test('"Written for: … denied calls. Not for reading logs."', async (t) => {
  const { key: weak } = await api.application('private', ['token:create'])
  t.equal((await get('/logs', weak)).status, 403)
  const denied = await get('/logs?entity_type=log')
  t.match(denied.body.data[0], { operation: 'read', message: /^Denied/ })
  const before = (await get('/logs')).body.pagination.total_items
  t.equal((await get('/logs')).body.pagination.total_items, before)
})

t.test('"start_date (… greater than or equal), end_date (… less than)"', async (t) => {
  api.clock.advance(3_600_000)
  const from = api.time()
  await api.call('POST', '/tokens', { key: tokens, body: { data: 'b' } })
  api.clock.advance(1_000)
  const to = api.time()
  await api.call('POST', '/tokens', { key: tokens, body: { data: 'c' } })
  const count = async (query: string) => (await get(`/logs?${query}`)).body.data.length
  const [since, until] = [encodeURIComponent(from), encodeURIComponent(to)]
  t.equal(await count(`start_date=${since}`), 2)
  t.equal(await count(`start_date=${since}&end_date=${until}`), 1)
  t.equal(await count(`start_date=${since}&end_date=${until}&entity_type=token`), 1)
  t.equal(await count(`start_date=${since}&entity_type=card`), 0)
  t.equal(await count(`start_date=${until}`), 1)
  t.equal(await count(`start_date=${to}`), 1, 'a plus sign that was not encoded')
  t.equal(await count(`start_date=${until}&end_date=${since}`), 0)
  t.ok((await count('start_date=&end_date=')) > 2, 'empty is absent')
  for (const member of ['start_date', 'end_date'])
    for (const value of ['yesterday', '2026-13-01', '2026-02-30T00:00:00Z', '5']) {
      const response = await get(`/logs?${member}=${value}`)
      t.equal(response.status, 400)
      t.ok(response.body.errors[member], value)
    }
})

t.test(
  '"Offset list: page, size (… logs up to 1000)"; "Cursor list: start …, next absent at the end"',
  async (t) => {
    for (let i = 0; i < 7; i++) await api.call('POST', '/tokenize', { key: tokens, body: ['x', 'y', 'z'] })
    const all = (await get('/logs?size=1000')).body
    t.equal(all.data.length, all.pagination.total_items)
    t.notOk('next' in all.pagination)
    const times = all.data.map(({ created_at }: Log) => Date.parse(created_at))
    t.strictSame(
      times,
      times.toSorted((a: number, b: number) => b - a),
    )
    const pages: Log[] = []
    for (let page = 1; page <= Math.ceil(all.data.length / 4); page++) {
      const { body } = await get(`/logs?size=4&page=${page}`)
      t.match(body.pagination, { page_number: page, page_size: 4, total_items: all.data.length })
      pages.push(...body.data)
    }
    t.strictSame(pages, all.data)
    const walked: Log[] = []
    let path = '/logs?size=5&start='
    for (let rounds = 0; rounds < 50; rounds++) {
      const { body } = await get(path)
      walked.push(...body.data)
      t.notOk('total_items' in body.pagination, 'nothing is counted')
      const { next } = body.pagination
      if (next === undefined) break
      t.ok(next.length <= 500)
      path = `/logs?size=5&start=${encodeURIComponent(next)}`
    }
    t.strictSame(walked, all.data)
    const { next } = (await get('/logs?size=1')).body.pagination
    const theirs = await api.otherTenant()
    t.equal((await get(`/logs?start=${next}`, theirs.key)).status, 400, "another tenant's cursor")
  },
)

t.test('"Entity types list every token type and resource, those of plugins included."', async (t) => {
  const { status, body } = await get('/logs/entity-types')
  t.equal(status, 200)
  t.ok(Array.isArray(body), '"Non-paginated array of Entity Type"')
  t.ok(
    body.some(
      ({ value, display_name }: Record<string, string>) => value === 'card' && display_name === 'Card',
    ),
  )
  const values = body.map(({ value }: { value: string }) => value)
  for (const value of ['token', 'card', 'bank', 'application', 'application_key', 'social_security_number'])
    t.ok(values.includes(value), value)
  t.equal(new Set(values).size, values.length)
  const { body: used } = await get('/logs?size=1000')
  for (const { entity_type } of used.data) t.ok(values.includes(entity_type), entity_type)
})
