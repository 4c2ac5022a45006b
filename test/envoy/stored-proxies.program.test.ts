import t from 'tap'
import type { StoredProxy } from '../../src/sdk/index.ts'
import { call, KEYS, startWorld, TOKENS, type World } from '../kit/egress.ts'
import { callHttp2 } from '../kit/http2.ts'

const worlds = { h1: await startWorld(), h2: await startWorld({ protocol: 'h2' }) }
const CALLS = { h1: call, h2: callHttp2 }
t.teardown(async () => {
  await worlds.h1.close()
  await worlds.h2.close()
})

/** A stored proxy of the tenant, under the key `proxy`. */
const store = (world: World, more: Partial<StoredProxy> = {}): StoredProxy => {
  const proxy = {
    id: 'proxy-id',
    tenantId: 'tenant',
    destinationUrl: world.url('/base?k=v'),
    requireAuth: true,
    configuration: {},
    ...more,
  }
  world.far.proxies.set('proxy', proxy)
  return proxy
}

const JSON_TYPE = { 'content-type': 'application/json' }

for (const protocol of ['h1', 'h2'] as const) {
  const world = worlds[protocol]
  const { destination, far } = world
  const send = (path = '/proxy', options: Parameters<typeof call>[2] = {}) =>
    CALLS[protocol](world.port, path, {
      ...options,
      headers: { 'svc-proxy-key': 'proxy', ...options.headers },
    })
  const { last } = destination
  const fresh = () => {
    destination.received.length = 0
    far.uses.length = 0
    far.records.length = 0
    far.proxies.clear()
  }

  t.test(
    `${protocol}: suffix and query are joined to the stored destination, the key is removed`,
    async (t) => {
      fresh()
      store(world)
      for (const [path, arrived] of [
        ['/proxy', '/base?k=v'],
        ['/proxy/', '/base?k=v'],
        ['/proxy/a/b?x=1', '/base/a/b?k=v&x=1'],
      ] as const) {
        t.equal((await send(path, { method: 'GET' })).status, 200)
        t.equal(last().path, arrived)
        t.notOk('svc-proxy-key' in last().headers)
      }
      for (const path of [
        '/proxy/a?svc-proxy-key=proxy&x=1',
        '/proxy/a?x=1&bt-proxy-key=proxy',
        '/proxy/a?SVC-PROXY-KEY=proxy&x=1',
      ]) {
        const response = await CALLS[protocol](world.port, path, { method: 'GET' })
        t.equal(response.status, 200, path)
        t.equal(last().path, '/base/a?k=v&x=1')
      }
      const climbing = await send('/proxy/%2e%2e/x', { method: 'GET' })
      t.equal(climbing.status, 400)
    },
  )

  t.test(`${protocol}: the proxy key takes precedence over a URL in a header`, async (t) => {
    fresh()
    store(world)
    const response = await send('/proxy/a', { method: 'GET', to: 'https://elsewhere.test' })
    t.equal(response.status, 200)
    t.equal(last().path, '/base/a?k=v')
    t.notOk('svc-proxy-url' in last().headers)
  })

  t.test(`${protocol}: a caller without access is denied, and nothing is forwarded`, async (t) => {
    fresh()
    store(world)
    for (const [name, status, options] of [
      ['no key', 401, { key: null }],
      ['an unknown key', 401, { key: 'unknown' }],
      ['a public application', 403, { key: KEYS.public }],
      ['no token:use', 403, { key: KEYS.idle }],
      ["another tenant's key", 404, { key: KEYS.stranger }],
      ['an unknown proxy key', 404, { headers: { 'svc-proxy-key': 'other' } }],
    ] as const) {
      const response = await send('/proxy', { ...options, body: 'x' })
      t.equal(response.status, status, name)
      t.equal(response.json.proxy_error.status, status, name)
      t.equal(response.headers['svc-proxy-destination-status'], undefined)
    }
    t.same(destination.received, [])
    t.match(
      far.records.map(({ entity_id, actor_id, message }) => ({ entity_id, actor_id, message })),
      [
        { entity_id: 'proxy-id', actor_id: 'public', message: 'Proxy call denied: Forbidden' },
        { entity_id: 'proxy-id', actor_id: 'idle', message: 'Proxy call denied: Forbidden' },
      ],
    )
  })

  t.test(`${protocol}: a call is recorded under the proxy's id`, async (t) => {
    fresh()
    store(world)
    await send('/proxy', { headers: { 'svc-trace-id': 'trace' }, body: 'x' })
    t.match(far.records, [
      {
        tenant_id: 'tenant',
        entity_type: 'proxy',
        entity_id: 'proxy-id',
        operation: 'use',
        actor_id: 'private',
        message: 'Proxy used',
        trace_id: 'trace',
      },
    ])
  })

  t.test(`${protocol}: without require_auth no key is needed, and a given one is ignored`, async (t) => {
    fresh()
    store(world, { requireAuth: false })
    for (const key of [null, 'unknown', KEYS.stranger]) {
      const response = await send('/proxy', { key, headers: JSON_TYPE, body: '{"a":1}' })
      t.equal(response.status, 200)
      t.notOk('svc-api-key' in last().headers)
    }
    t.match(far.records[0], { entity_id: 'proxy-id', actor_id: null, actor_type: null })
    destination.received.length = 0
    for (const body of ['{"a":"{{ name }}"}', '{"a":"{{ unknown }}"}', '{"a":"{{ \'x\' }}"}']) {
      const response = await send('/proxy', { key: KEYS.private, headers: JSON_TYPE, body })
      t.equal(response.status, 403, body)
      t.equal(response.json.proxy_error.status, 403)
    }
    t.same([destination.received, far.uses], [[], []])
  })

  t.test(`${protocol}: callers without a key get the permissions of the proxy's application`, async (t) => {
    fresh()
    store(world, { requireAuth: false, applicationId: 'private' })
    const expression = { key: null, headers: JSON_TYPE, body: '{"a":"{{ name }}"}' }
    t.equal((await send('/proxy', expression)).status, 200)
    t.same(JSON.parse(last().body?.toString() ?? ''), { a: TOKENS.name?.data })
    t.match(far.uses[0]?.context.caller, {
      actorId: 'private',
      actorType: 'application',
      tenantId: 'tenant',
    })
    destination.received.length = 0
    for (const applicationId of ['idle', 'stranger', 'gone']) {
      store(world, { requireAuth: false, applicationId })
      t.equal((await send('/proxy', expression)).status, 403, applicationId)
    }
  })

  t.test(`${protocol}: a destination that is not allowed is rejected, also when it is stored`, async (t) => {
    fresh()
    for (const [destinationUrl, status] of [
      ['https://10.0.0.1/', 403],
      ['http://dest.test/', 403],
      ['ftp://dest.test/', 400],
      [`http://127.0.0.1:${world.port}/`, 403],
    ] as const) {
      store(world, { destinationUrl })
      const response = await send('/proxy', { body: 'x' })
      t.equal(response.status, status, destinationUrl)
      t.notMatch(response.text, /10\.0\.0\.1|dest\.test/)
    }
    t.same(destination.received, [])
  })
}

t.test(
  'several proxy keys are 400, in one place or two; the same key in header and query is accepted',
  async (t) => {
    const world = worlds.h1
    store(world)
    world.far.proxies.set('second', store(world))
    world.destination.received.length = 0
    const send = (query: string, headers: Record<string, string | readonly string[]> = {}) =>
      call(world.port, `/proxy${query}`, { method: 'GET', headers })
    const header = (key: string | readonly string[], prefix = 'svc') => ({ [`${prefix}-proxy-key`]: key })
    for (const [query, headers] of [
      ['?svc-proxy-key=proxy&svc-proxy-key=second'],
      ['?svc-proxy-key=proxy&SVC-Proxy-Key=proxy'],
      ['?svc-proxy-key=proxy&bt-proxy-key=second'],
      ['?svc-proxy-key=second', header('proxy')],
      ['', header(['proxy', 'proxy'])],
      ['', { ...header('proxy'), ...header('second', 'bt') }],
    ] as const) {
      const response = await send(query, headers)
      t.equal(response.status, 400, query)
      t.equal(response.json.proxy_error.status, 400)
    }
    t.same(world.destination.received, [])
    t.equal((await send('?svc-proxy-key=proxy', header('proxy'))).status, 200)
  },
)

t.test('responses have the header prefix of the parameter that holds the proxy key', async (t) => {
  const world = worlds.h1
  store(world, { requireAuth: false })
  const response = await call(world.port, '/proxy?bt-proxy-key=proxy', { method: 'GET', key: null })
  t.equal(response.headers['bt-proxy-destination-status'], '200')
  t.type(response.headers['bt-trace-id'], 'string')
  const unknown = await call(world.port, '/proxy?x=1&bt-proxy-key=other', { method: 'GET', key: null })
  t.equal(unknown.status, 404)
  t.type(unknown.headers['bt-trace-id'], 'string')
})
