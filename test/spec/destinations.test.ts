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

t.test('"1 to 20 … `[]` is 400", and so is what is malformed', async (t) => {
  const rejected: readonly (readonly [unknown, string])[] = [
    [[], ''],
    [Array(21).fill(STRIPE), ''],
    ['api.stripe.test', ''],
    [[{}], '[0].host'],
    [[{ host: 'a.test:443' }], '[0].host'],
    [[STRIPE, { host: '*.*.test' }], '[1].host'],
    [[{ ...STRIPE, ports: [] }], '[0].ports'],
    [[{ ...STRIPE, ports: [0] }], '[0].ports[0]'],
    [[{ ...STRIPE, ports: [65_536] }], '[0].ports[0]'],
    [[{ ...STRIPE, methods: [] }], '[0].methods'],
    [[{ ...STRIPE, methods: ['TRACE'] }], '[0].methods[0]'],
    [[{ ...STRIPE, path: 'v1' }], '[0].path'],
    [[{ ...STRIPE, path: '/a/../b' }], '[0].path'],
    [[{ ...STRIPE, surfaces: [] }], '[0].surfaces'],
    [[{ ...STRIPE, surfaces: ['cookie:a'] }], '[0].surfaces[0]'],
  ]
  // As text: gRPC has no empty list inside of a message.
  const post = (more: object) =>
    api.call('POST', '/applications', { key: api.management, raw: JSON.stringify(application(more)) })
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

t.test('"rules that show more, or elsewhere, are more": they are given by administrators', async (t) => {
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

t.test(
  'the rules of a session send values nowhere that those of its authorizing application do not',
  async (t) => {
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
  },
)
