import t from 'tap'
import { textAtRest } from '../kit/test-store.ts'
import { startApi } from './api.ts'

const api = await startApi(t)
const key = api.management
const send = (method: string, path: string, body?: object, as = key) =>
  api.call(method, path, { key: as, ...(body ? { body } : {}) })
const BODY = { name: 'Payments', destination_url: 'https://api.example.com/v1' }
const create = async (more: object = {}) => (await send('POST', '/proxies', { ...BODY, ...more })).body
const { id: privateId } = await api.application('private', ['token:use'])
const { id: publicId } = await api.application('public', ['token:create'])
const CODE = 'module.exports = async (req) => ({ body: req.args.body, headers: req.args.headers })'

t.test('"Create | POST /proxies | … The created Proxy"', async (t) => {
  const { body: application } = await api.call('GET', '/applications/key', { key })
  const { status, body } = await send('POST', '/proxies/', BODY)
  t.equal(status, 201)
  t.strictSame(body, {
    id: body.id,
    key: body.key,
    ...BODY,
    tenant_id: application.tenant_id,
    require_auth: true,
    evaluate: ['body'],
    intercept: false,
    created_by: application.id,
    created_at: api.time(),
  })
  t.match(body.key, /^[1-9A-HJ-NP-Za-km-z]{22}$/, '"Proxy key is 22 base58 characters"')
  const full = {
    ...BODY,
    request_transform: { code: CODE },
    response_transform: { code: CODE },
    configuration: { SECRET: 'abc', n: 1 },
    require_auth: false,
    request_reactor_id: 'legacy-1',
    response_reactor_id: 'legacy-2',
  }
  const application_id = privateId
  const embedded = { id: privateId, name: 'other members do not count', type: 'private' }
  const created = await send('POST', '/proxies', { ...full, application: embedded })
  t.equal(created.status, 201)
  t.match(created.body, { ...full, application_id })
  const passing = await create({ response_transform: { code: CODE, otherwise: 'pass' } })
  t.same(passing.response_transform, { code: CODE, otherwise: 'pass' })
  const none = await create({ request_transform: {}, response_transform: null, configuration: null })
  t.notOk('request_transform' in none || 'response_transform' in none, '"{} means none"')
})

t.test('a proxy acts as a private or public application', async (t) => {
  for (const application of [{ id: privateId }, { id: publicId }, null])
    t.equal((await send('POST', '/proxies', { ...BODY, application })).status, 201)
})

t.test('"PUT replaces all (an omitted application is cleared) 200"', async (t) => {
  const created = await create({
    application: { id: privateId },
    configuration: { a: 'b' },
    request_transform: { code: CODE },
    require_auth: false,
  })
  api.clock.advance(1_000)
  const { body: application } = await api.call('GET', '/applications/key', { key })
  const { status, body } = await send('PUT', `/proxies/${created.id}`, { ...BODY, name: 'New' })
  t.equal(status, 200)
  t.strictSame(body, {
    id: created.id,
    key: created.key,
    ...BODY,
    name: 'New',
    tenant_id: created.tenant_id,
    require_auth: true,
    evaluate: ['body'],
    intercept: false,
    created_by: created.created_by,
    created_at: created.created_at,
    modified_by: application.id,
    modified_at: api.time(),
  })
})

t.test('null removes "otherwise", also in a merge patch (RFC 7386)', async (t) => {
  const created = await create({ response_transform: { code: CODE, otherwise: 'pass' } })
  const body = { response_transform: { otherwise: null } }
  t.equal((await send('PATCH', `/proxies/${created.id}`, body)).status, 204)
  t.strictSame((await send('GET', `/proxies/${created.id}`)).body.response_transform, { code: CODE })
  const other = await create({ response_transform: { code: CODE, otherwise: null } })
  t.strictSame(other.response_transform, { code: CODE })
})

t.test('"PATCH (merge) 204"', async (t) => {
  const created = await create({
    application: { id: privateId },
    configuration: { a: '1', b: '2' },
    request_transform: { code: CODE },
  })
  const patch = (body: object, type = 'application/merge-patch+json') =>
    api.call('PATCH', `/proxies/${created.id}`, {
      key,
      raw: JSON.stringify(body),
      headers: { 'content-type': type },
    })
  const done = await patch({ configuration: { b: null, c: '3' }, name: 'Patched' })
  t.equal(done.status, 204)
  t.equal(done.text, '')
  const get = async () => (await send('GET', `/proxies/${created.id}`)).body
  t.match(await get(), {
    name: 'Patched',
    destination_url: BODY.destination_url,
    key: created.key,
    application_id: privateId,
    configuration: { a: '1', c: '3' },
    request_transform: { code: CODE },
    require_auth: true,
  })
  t.strictSame((await get()).configuration, { a: '1', c: '3' })
  t.equal(
    (await patch({ application: null, request_transform: null, require_auth: false }, 'application/json'))
      .status,
    204,
  )
  const cleared = await get()
  t.notOk('application_id' in cleared || 'request_transform' in cleared)
  t.equal(cleared.require_auth, false)
  const more = Object.fromEntries(Array.from({ length: 24 }, (_, i) => [`k${i}`, 'v']))
  const rejected = await patch({ configuration: more })
  t.equal(rejected.status, 400)
  t.ok(rejected.body.errors.configuration, 'with those that it has')
  t.strictSame(await get(), cleared)
})

t.test(
  '"Code that does not parse is saved … and answered with warnings; with the setting strict_code it is refused"',
  async (t) => {
    const code = 'module.exports = async (req) => {\n  return { body: }\n}'
    const created = await create({ request_transform: { code } })
    t.match(created.warnings, [
      { path: 'request_transform.code', line: 2, column: 18, message: /Unexpected token/ },
    ])
    t.equal(created.request_transform.code, code)
    t.notOk('warnings' in (await send('GET', `/proxies/${created.id}`)).body)
    await send('PUT', '/tenants/self', { name: 'x', settings: { strict_code: 'true' } })
    for (const [method, path] of [
      ['POST', '/proxies'],
      ['PUT', `/proxies/${created.id}`],
    ] as const) {
      const rejected = await send(method, path, { ...BODY, response_transform: { code } })
      t.equal(rejected.status, 400)
      t.match(rejected.body.errors['response_transform.code'], [/^line 2, column 18: /])
    }
    t.equal((await send('POST', '/proxies', { ...BODY, response_transform: { code: CODE } })).status, 201)
    await send('PUT', '/tenants/self', { name: 'x', settings: {} })
  },
)

t.test('keys, configuration, code and destination are encrypted at rest', async (t) => {
  const created = await create({
    configuration: { SECRET: 'sk_live_7f3a91c2' },
    request_transform: { code: `${CODE} // sk_code_55d1` },
    destination_url: 'https://hooks.example.com/services/T00-secret',
  })
  await api.service.store.health()
  const files = await textAtRest(api.service.location)
  for (const secret of ['sk_live_7f3a91c2', 'sk_code_55d1', 'T00-secret', created.key])
    t.ok(
      files.every((text) => !text.includes(secret)),
      secret,
    )
  t.ok(
    files.some((text) => text.includes(created.id)),
    'the files are those of the store',
  )
})

t.test('completions §13: evaluate is a list of at most 20 surfaces, stored as they count', async (t) => {
  t.same((await create()).evaluate, ['body'], 'the default')
  const created = await create({
    evaluate: ['body', 'header:Authorization', 'header:authorization', 'query:Key'],
  })
  t.same(created.evaluate, ['body', 'header:authorization', 'query:Key'])
  const none = await create({ evaluate: [] })
  t.same(none.evaluate, [])
  t.same((await create({ evaluate: null })).evaluate, ['body'])
  const many = Array.from({ length: 21 }, (_, at) => `query:${at}`)
  t.equal((await create({ evaluate: many.slice(1) })).evaluate.length, 20)
  const tooMany = await send('POST', '/proxies', { ...BODY, evaluate: many })
  t.match(tooMany, { status: 400, body: { errors: { evaluate: [/20/] } } })
  for (const surface of [
    ...['host', 'content-length', 'Content-Type', 'transfer-encoding', 'connection', ':path', 'forwarded'],
    ...['x-forwarded-for', 'via', 'traceparent', 'tracestate', 'x-request-id', 'svc-api-key', 'a b', '*'],
  ]) {
    const { status, body } = await send('POST', '/proxies', { ...BODY, evaluate: [`header:${surface}`] })
    t.match({ status, code: body.code }, { status: 400, code: 'invalid_surface' }, surface)
  }
  for (const surface of ['', 'headers', 'query:', 'Body', 'fragment'])
    t.equal((await send('POST', '/proxies', { ...BODY, evaluate: [surface] })).body.code, 'invalid_surface')
  const { id } = created
  t.equal((await send('PATCH', `/proxies/${id}`, { name: 'Other' })).status, 204)
  t.same((await send('GET', `/proxies/${id}`)).body.evaluate, created.evaluate, 'a patch without it keeps it')
  t.equal((await send('PATCH', `/proxies/${id}`, { evaluate: ['header:host'] })).body.code, 'invalid_surface')
  t.equal((await send('PATCH', `/proxies/${id}`, { evaluate: [] })).status, 204)
  t.same((await send('GET', `/proxies/${id}`)).body.evaluate, [])
  t.same((await send('PUT', `/proxies/${id}`, BODY)).body.evaluate, ['body'], 'a replacement clears it')
})

t.test('"a stored proxy of the tenant with intercept: true … two of the same are 409"', async (t) => {
  const at = (path: string, more: object = {}) => ({
    name: 'I',
    destination_url: `https://intercepted.example.com${path}`,
    intercept: true,
    ...more,
  })
  const first = await send('POST', '/proxies', at('/v1'))
  t.match(first, { status: 201, body: { intercept: true } })
  t.notOk('bound_host' in first.body || 'binding' in first.body)
  for (const same of ['/v1', '/v1/', '/%76%31', '/v1?a=b', ':443/v1'])
    t.match(await send('POST', '/proxies', at(same)), { status: 409, body: { code: 'conflict' } }, same)
  t.equal((await send('POST', '/proxies', at('/v1', { intercept: false }))).status, 201)
  const second = await send('POST', '/proxies', at(''))
  t.equal(second.status, 201)
  const path = `/proxies/${second.body.id}`
  const { destination_url } = at('/v1')
  t.equal((await send('PATCH', path, { destination_url })).status, 409)
  t.equal((await send('PUT', path, at('/v1'))).status, 409)
  t.equal((await send('PATCH', path, { name: 'J' })).status, 204, 'its own binding is not in its way')
  t.equal((await send('PATCH', path, { destination_url, intercept: null })).status, 204)
  t.equal((await send('GET', path)).body.intercept, false)
  t.equal((await send('PATCH', path, { intercept: true })).status, 409)
  await send('DELETE', `/proxies/${first.body.id}`)
  t.equal((await send('PATCH', path, { intercept: true })).status, 204)
})

t.test('of many concurrent proxies with one binding, one is created', async (t) => {
  const body = { ...BODY, destination_url: 'https://races.example.com', intercept: true }
  const all = await Promise.all(Array.from({ length: 8 }, () => send('POST', '/proxies', body)))
  t.same(all.map(({ status }) => status).sort(), [201, ...Array(7).fill(409)])
})

t.test('proxies that cannot be intercepted are 400', async (t) => {
  for (const destination_url of [
    'https://api.example.com/a//b',
    'https://api.example.com/a%2Fb',
    'https://api.example.com/a%5cb',
    'https://api.example.com/a/..;/b',
    'https://api.example.com/a%zz',
  ]) {
    const found = await send('POST', '/proxies', { ...BODY, destination_url, intercept: true })
    t.match(found, { status: 400, body: { errors: { intercept: [String] } } }, destination_url)
  }
})
