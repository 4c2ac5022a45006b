import t from 'tap'
import { startApi } from './api.ts'

/** Where a value may go, as the management API stores it (completions §14). */
const api = await startApi(t)
const call = (method: string, path: string, body?: unknown, key = api.management) =>
  api.call(method, path, { key, ...(body === undefined ? {} : { body }) })

const STRIPE = { host: 'api.stripe.test' }
const STORED = { ...STRIPE, ports: [443] }
const use = (destinations?: object[] | null) => ({
  description: 'Pay',
  priority: 1,
  container: '/pci/',
  transform: 'reveal',
  permissions: ['token:use'],
  ...(destinations === undefined ? {} : { destinations }),
})
const application = (more: object = {}) => ({ name: 'Pay', type: 'private', rules: [use()], ...more })

t.test('"`destinations` of … access rules and applications", stored normalized', async (t) => {
  const sent = {
    host: '*.B\u00fccher.TEST.',
    ports: [8443, 443],
    methods: ['POST'],
    path: '/%761/**',
    surfaces: ['header:Authorization'],
  }
  const stored = {
    host: '*.xn--bcher-kva.test',
    ports: [443, 8443],
    methods: ['POST'],
    path: '/v1/**',
    surfaces: ['header:authorization'],
  }
  const { status, body } = await call(
    'POST',
    '/applications',
    application({ destinations: [sent, STRIPE], rules: [use([sent])] }),
  )
  t.equal(status, 201)
  t.strictSame(body.destinations, [stored, STORED])
  t.strictSame(body.rules, [use([stored])])
  const { key, ...rest } = body
  t.strictSame((await call('GET', `/applications/${body.id}`)).body, rest)
  t.strictSame((await call('GET', '/applications/key', undefined, key)).body, rest)

  const put = await call('PUT', `/applications/${body.id}`, { name: 'Pay', rules: [use([STRIPE])] })
  t.notOk('destinations' in put.body, 'a PUT replaces all')
  t.strictSame(put.body.rules, [use([STORED])])
  const none = await call('POST', '/applications', application({ destinations: null, rules: [use(null)] }))
  t.notOk('destinations' in none.body, '"absent or null: anywhere"')
  t.strictSame(none.body.rules, [use()])
})

t.test('malformed destinations are 400 with their place', async (t) => {
  const rejected: readonly (readonly [unknown, string])[] = [
    [[{ host: 'a.test:443' }], '[0].host'],
    [[STRIPE, { host: '*.*.test' }], '[1].host'],
    [[{ ...STRIPE, path: 'v1' }], '[0].path'],
    [[{ ...STRIPE, path: '/a/../b' }], '[0].path'],
    [[{ ...STRIPE, surfaces: ['cookie:a'] }], '[0].surfaces[0]'],
  ]
  const post = (more: object) => call('POST', '/applications', application(more))
  for (const [destinations, at] of rejected) {
    const own = await post({ destinations })
    t.equal(own.status, 400, JSON.stringify(destinations))
    t.ok(own.body.errors?.[`destinations${at}`], Object.keys(own.body.errors ?? {}).join())
    const ofRule = await post({ rules: [use(destinations as object[])] })
    t.equal(ofRule.status, 400)
    t.ok(ofRule.body.errors?.[`rules[0].destinations${at}`], Object.keys(ofRule.body.errors ?? {}).join())
  }
  const management = { name: 'm', type: 'management', permissions: ['log:read'], destinations: [STRIPE] }
  t.ok((await call('POST', '/applications', management)).body.errors.destinations)
})

t.test('"rules that show more, or elsewhere, are more": only administrators grant them', async (t) => {
  const { key } = await api.application('management', ['application:update'])
  const { body } = await call(
    'POST',
    '/applications',
    application({ destinations: [STRIPE, { host: 'b.test' }], rules: [use([STRIPE])] }),
  )
  const put = async (destinations: object[] | null, rules: object[]) =>
    (await call('PUT', `/applications/${body.id}`, { name: 'Pay', destinations, rules }, key)).status
  t.equal(await put([STRIPE, { host: 'b.test' }], [use([STRIPE])]), 200, 'as it was')
  t.equal(await put([STRIPE], [use([STRIPE])]), 200, 'less')
  t.equal(await put([STRIPE], [use([{ ...STRIPE, path: '/v1/**' }])]), 200, 'less')
  t.equal(await put([STRIPE], [use([STRIPE])]), 403, 'another path')
  const narrow = [use([{ ...STRIPE, path: '/v1/**' }])]
  t.equal(await put([STRIPE, { host: 'b.test' }], narrow), 403, 'another host')
  t.equal(await put([{ ...STRIPE, ports: [443, 8443] }], narrow), 403, 'another port')
  t.equal(await put(null, narrow), 403, 'any host')
  t.equal(await put([STRIPE], [use()]), 403, 'a rule without a list')
  t.equal(await put([STRIPE], []), 400)
  const { rules, destinations } = (await call('GET', `/applications/${body.id}`)).body
  t.strictSame(
    { rules, destinations },
    { rules: [use([{ ...STORED, path: '/v1/**' }])], destinations: [STORED] },
  )
})

t.test('rules of a session allow only destinations of its authorizing application', async (t) => {
  const { key: publicKey } = await api.application('public', ['token:create'])
  const { body: authority } = await call('POST', '/applications', application({ rules: [use([STRIPE])] }))
  const authorize = async (grant: object) => {
    const { nonce } = (await call('POST', '/sessions', {}, publicKey)).body
    return (await call('POST', '/sessions/authorize', { nonce, ...grant }, authority.key)).status
  }
  t.equal(await authorize({ rules: [use([{ ...STRIPE, methods: ['POST'] }])] }), 200)
  t.equal(await authorize({ rules: [use([{ host: 'b.test' }])] }), 403)
  t.equal(await authorize({ rules: [use()] }), 403)
  t.equal(await authorize({ rules: [use([{ host: 'a b' }])] }), 400)
})

const manage = (await api.application('private', ['token:create', 'token:read', 'token:update'])).key
const reveal = (
  await api.application(
    'private',
    ['token:create'],
    [{ ...use(), container: '/', permissions: ['token:read', 'token:update', 'token:use'] }],
  )
).key
const CARD = { number: '4242424242424242', expiration_month: 1, expiration_year: 2031 }
const LIMITS = { destinations: [{ host: 'API.Stripe.test', path: '/v1/**' }], egress_only: true }
const SHOWN = { destinations: [{ ...STORED, path: '/v1/**' }], egress_only: true }

t.test('`destinations` and `egress_only` of tokens, wherever a token is defined and returned', async (t) => {
  const { status, body } = await call('POST', '/tokens', { data: 'a', ...LIMITS }, manage)
  t.equal(status, 201)
  t.match(body, SHOWN)
  const { id } = body
  t.match((await call('GET', `/tokens/${id}`, undefined, manage)).body, SHOWN)
  t.match((await call('GET', `/tokens?id=${id}`, undefined, manage)).body.data[0], SHOWN)
  t.match((await call('GET', '/v2/tokens?size=1', undefined, manage)).body.data[0], SHOWN)
  const tokenized = await call('POST', '/tokenize', { a: { type: 'token', data: 'b', ...LIMITS } }, manage)
  t.match(tokenized.body.a, SHOWN)
  t.match((await call('POST', '/tokenize', { data: 'c', ...LIMITS }, manage)).body, SHOWN)
  const child = await call('POST', `/tokens/${id}/children`, { data: 'd', ...LIMITS }, manage)
  t.match(child.body, SHOWN)
  const plain = (await call('POST', '/tokens', { data: 'e', destinations: null, egress_only: false }, manage))
    .body
  t.notOk('destinations' in plain || 'egress_only' in plain, '"Unset optional members are left out."')

  const { key: creator } = await api.application(
    'private',
    ['token:create'],
    [{ ...use(), container: '/general/', transform: 'redact', permissions: ['token:read'] }],
  )
  const duplicate = { type: 'card', data: CARD, deduplicate_token: true }
  await call('POST', '/tokens', { ...duplicate, ...LIMITS }, reveal)
  const again = await call('POST', '/tokens', duplicate, creator)
  t.notOk('destinations' in again.body, 'a new token: the caller may not see what it would duplicate')
})

t.test('malformed limits of a token are 400 with their place', async (t) => {
  const rejected: readonly (readonly [object, string])[] = [
    [{ destinations: [{ host: 'a b' }] }, 'destinations[0].host'],
    [{ destinations: [STRIPE, { ...STRIPE, path: '//' }] }, 'destinations[1].path'],
    [{ destinations: [{ ...STRIPE, surfaces: ['header:host'] }] }, 'destinations[0].surfaces[0]'],
  ]
  const { id } = (await call('POST', '/tokens', { data: 'a' }, reveal)).body
  for (const [limits, path] of rejected)
    for (const [method, at, base] of [
      ['POST', '/tokens', ''],
      ['PATCH', `/tokens/${id}`, ''],
      ['POST', '/tokenize', 'x.'],
    ] as const) {
      const definition = { data: 'a', ...limits }
      const { status, body } = await call(method, at, base === '' ? definition : { x: definition }, reveal)
      t.equal(status, 400, `${method} ${at} ${JSON.stringify(limits)}`)
      t.ok(body.errors?.[base + path], Object.keys(body.errors ?? {}).join())
    }
})
