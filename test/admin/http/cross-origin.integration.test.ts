/** Pages of other origins (completions §20), over the listener that a page reaches: attacks, and what is open. */
import { request } from 'node:http'
import t, { type Test } from 'tap'
import { AppError } from '../../../src/common/errors.ts'
import type { RateLimiter } from '../../../src/common/rate-limiter.ts'
import { type CallOptions, startTestService } from '../../kit/service.ts'
import { openInThread } from '../../kit/store-in-thread.ts'

const SHOP = 'https://shop.example'
const CARD = {
  type: 'card',
  data: { number: '4242424242424242', expiration_month: 12, expiration_year: 2030 },
}

const setUp = async (t: Test, admit?: RateLimiter) => {
  const service = await startTestService(t, {
    openStore: openInThread,
    admin: { prefixes: ['SVC', 'BT'], direct: { host: '127.0.0.1', port: 0 }, admit },
  })
  const { call } = service
  const shop = async (allowed_origins: readonly string[], permissions = ['token:create', 'token:update']) =>
    service.application({ permissions, allowed_origins } as object, 'public')
  const from = (origin: string, method: string, path: string, options: CallOptions = {}) =>
    call(method, path, { ...options, headers: { origin, ...options.headers } })
  const preflight = (origin: string, method: string, path: string, headers = {}) =>
    call('OPTIONS', path, {
      key: null,
      headers: { origin, 'access-control-request-method': method, ...headers },
    })
  return { ...service, shop, from, preflight }
}

const corsOf = (headers: Readonly<Record<string, string | undefined>>) =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'))

const OPEN: readonly (readonly [method: string, path: string])[] = [
  ['POST', '/tokens'],
  ['POST', '/tokenize'],
  ['PATCH', '/tokens/a'],
  ['GET', '/tokens/a'],
  ['POST', '/detokenize'],
  ['POST', '/sessions'],
]

/** What no page can be, or can only be by mistake, where SHOP is allowed. */
const FOREIGN = [
  'null',
  '',
  '*',
  'https://shop.example/',
  'https://shop.example:443',
  'https://shop.example:8443',
  'https://shop.example.evil.example',
  'https://evil-shop.example',
  'https://sub.shop.example',
  'https://Shop.example',
  'HTTPS://SHOP.EXAMPLE',
  'http://shop.example',
  'https://shop.example.',
  'https://shop.example https://evil.example',
  'https://shop.example, https://evil.example',
  'https://shop.example%00',
  'https://xn--shop-example',
]

t.test('a preflight without a key succeeds for origins that some application allows', async (t) => {
  const { shop, preflight, call } = await setUp(t)
  t.same(corsOf((await preflight(SHOP, 'POST', '/tokens')).headers), [], 'nothing allows it yet')
  await shop([SHOP])
  for (const [method, path] of OPEN)
    t.match(
      await preflight(SHOP, method, path),
      {
        status: 204,
        text: '',
        headers: {
          'access-control-allow-origin': SHOP,
          'access-control-allow-methods': method,
          'access-control-allow-headers': /^SVC-API-KEY, .*BT-API-KEY.*Content-Type/,
          'access-control-max-age': '7200',
          vary: 'Origin',
        },
      },
      `${method} ${path}`,
    )
  const { headers } = await preflight(SHOP, 'POST', '/tokens')
  t.notMatch(headers['access-control-allow-headers'], /console|\*/i, "the console's proof stays its own")
  for (const [method, path] of [
    ['GET', '/tokens'],
    ['DELETE', '/tokens/a'],
    ['PUT', '/tokens/a'],
    ['post', '/tokens'],
    ['POST', '/sessions/authorize'],
    ['POST', '/tokens/search'],
    ['GET', '/applications/key'],
    ['POST', '/applications'],
    ['POST', '/proxy'],
    ['POST', '/console/session'],
    ['POST', '/console/api/tokens'],
    ['GET', '/healthz'],
  ] as const) {
    const response = await preflight(SHOP, method, path)
    t.ok(response.status >= 400, `${method} ${path}`)
    t.same(corsOf(response.headers), [], `${method} ${path}`)
  }
  for (const origin of FOREIGN) {
    const response = await preflight(origin, 'POST', '/tokens')
    t.same([response.status, corsOf(response.headers)], [405, []], origin)
    t.equal(response.headers.vary, origin === '' ? response.headers.vary : 'Origin', origin)
    t.equal(origin !== '' && response.text.includes(origin), false, 'it is not reflected')
  }
  t.equal((await call('OPTIONS', '/tokens', { key: null })).status, 405, 'an OPTIONS that is no preflight')
})

t.test('the document names the calls that are open to pages', async (t) => {
  const { call } = await setUp(t)
  const { paths } = (await call('GET', '/openapi.json')).json
  const open = Object.entries<Record<string, { 'x-cross-origin'?: true }>>(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation['x-cross-origin'])
      .map(([method]) => `${method.toUpperCase()} ${path.replace('{id}', 'a')}`),
  )
  t.same(open.sort(), OPEN.map((each) => each.join(' ')).sort())
})

t.test('a page of an allowed origin stores, and reads errors as well as results', async (t) => {
  const { shop, from } = await setUp(t)
  const key = await shop([SHOP])
  const created = await from(SHOP, 'POST', '/tokens', { key, body: CARD })
  t.match(created, {
    status: 201,
    headers: {
      'access-control-allow-origin': SHOP,
      'access-control-expose-headers': /SVC-TRACE-ID.*ETag.*RateLimit/,
      vary: 'Origin',
    },
  })
  t.notOk('access-control-allow-credentials' in created.headers)
  for (const [response, status] of [
    [await from(SHOP, 'POST', '/tokens', { key: null, body: CARD }), 401],
    [await from(SHOP, 'POST', '/tokens', { key, body: { type: 'card', data: {} } }), 400],
    [await from(SHOP, 'POST', '/tokens', { key, body: '{' }), 415],
    [await from(SHOP, 'POST', '/tokens', { key, body: { data: 'x'.repeat(2 * 1024 * 1024) } }), 413],
    [await from(SHOP, 'GET', `/tokens/${created.json.id}`, { key }), 403],
  ] as const) {
    t.equal(response.status, status)
    t.equal(response.headers['access-control-allow-origin'], SHOP, `${status} can be read`)
  }
})

t.test(
  'a key is of use to pages of its own application only, and without an origin to servers',
  async (t) => {
    const { shop, from, call } = await setUp(t)
    const key = await shop([SHOP])
    const other = await shop(['https://other.example'])
    const none = await shop([])
    for (const origin of FOREIGN.filter((each) => each !== '')) {
      const response = await from(origin, 'POST', '/tokens', { key, body: CARD })
      t.match(response, { status: 403, json: { code: 'origin_not_allowed' } }, origin)
      t.same(corsOf(response.headers), [], origin)
      t.notOk(response.text.includes(origin), 'it is not reflected')
    }
    t.match(
      await from(SHOP, 'POST', '/tokens', { key: other, body: CARD }),
      { status: 403, headers: { 'access-control-allow-origin': SHOP } },
      'the page can read why, since the installation allows the origin',
    )
    t.equal((await from(SHOP, 'POST', '/tokens', { key: none, body: CARD })).status, 403)
    for (const each of [key, other, none])
      t.equal((await call('POST', '/tokens', { key: each, body: CARD })).status, 201)
    t.match(await from(SHOP, 'GET', '/applications/key', { key }), {
      status: 403,
      json: { code: 'origin_not_allowed' },
    })
  },
)

t.test(
  'private and management keys are of no use to pages, and say why before any other error',
  async (t) => {
    const { shop, from, application, managementKey, call } = await setUp(t)
    await shop([SHOP])
    const secret = await application({ permissions: ['token:create', 'token:read'] })
    for (const [key, method, path, body] of [
      [secret, 'POST', '/tokens', CARD],
      [secret, 'POST', '/tokens', { nonsense: true }],
      [secret, 'GET', '/tokens', undefined],
      [secret, 'GET', '/tokens/a', undefined],
      [managementKey, 'GET', '/applications', undefined],
      [managementKey, 'POST', '/tokens', CARD],
    ] as const)
      t.match(
        await from(SHOP, method, path, { key, body }),
        { status: 403, json: { code: 'origin_not_allowed', detail: /browser/ } },
        `${method} ${path}`,
      )
    const { json } = await call('GET', '/logs?entity_type=token')
    t.match(json.data, [{ message: /^Denied: Token/ }], 'it is on the record')
  },
)

t.test(
  'a page that rebinds its name to the listener is a page of its own origin, and not of ours',
  async (t) => {
    const { from, application, admin, shop } = await setUp(t)
    const { host, port } = new URL(admin.direct?.address ?? '')
    const secret = await application({ permissions: ['token:create'] })
    const key = await shop([SHOP])
    for (const name of [`evil.example:${port}`, host])
      for (const each of [secret, key]) {
        const headers = { host: name, 'sec-fetch-site': 'same-origin', 'x-forwarded-host': name }
        t.match(await from(`http://${name}`, 'POST', '/tokens', { key: each, body: CARD, headers }), {
          status: 403,
          json: { code: 'origin_not_allowed' },
        })
      }
  },
)

t.test('* opens the calls of token:create to all pages, and nothing else', async (t) => {
  const { shop, from, preflight, application, call } = await setUp(t)
  const key = await shop(['*'], ['token:create'])
  for (const origin of ['https://anyone.example', 'null'])
    for (const path of ['/tokens', '/tokenize']) {
      t.match(await preflight(origin, 'POST', path), {
        status: 204,
        headers: { 'access-control-allow-origin': '*' },
      })
      t.match(await from(origin, 'POST', path, { key, body: CARD }), {
        status: path === '/tokens' ? 201 : 200,
        headers: { 'access-control-allow-origin': '*' },
      })
    }
  for (const origin of ['https://anyone.example', '*'])
    for (const [method, path] of OPEN.slice(2)) {
      t.same(corsOf((await preflight(origin, method, path)).headers), [])
      t.equal((await from(origin, method, path, { key })).status, 403)
    }
  const { json: session } = await call('POST', '/sessions', { key })
  const back = await application({ permissions: ['token:create'] })
  const body = { nonce: session.nonce, permissions: ['token:create'] }
  t.equal((await call('POST', '/sessions/authorize', { key: back, body })).status, 200)
  t.match(
    await from('https://anyone.example', 'POST', '/tokens', { key: session.session_key, body: CARD }),
    { status: 403, json: { code: 'origin_not_allowed' } },
    'a session may hold more than its application',
  )
})

t.test('a session reads from pages of its application until the application drops the origin', async (t) => {
  const { from, application, call } = await setUp(t)
  const { json: shop } = await call('POST', '/applications', {
    body: { name: 'Shop', type: 'public', permissions: ['token:create'], allowed_origins: [SHOP] },
  })
  const { json: session } = await from(SHOP, 'POST', '/sessions', { key: shop.key })
  const pending = await from(SHOP, 'POST', '/tokens', { key: session.session_key, body: CARD })
  t.match(pending, { status: 403, json: { code: 'forbidden' } })
  const permissions = ['token:create', 'token:read']
  const back = await application({ permissions })
  await call('POST', '/sessions/authorize', { key: back, body: { nonce: session.nonce, permissions } })
  const key = session.session_key
  const { json: token } = await from(SHOP, 'POST', '/tokens', { key, body: CARD })
  const read = (origin: string) => from(origin, 'GET', `/tokens/${token.id}`, { key })
  t.match(await read(SHOP), { status: 200, json: { data: { number: /^X+4242$/ } } })
  t.match(
    await from(SHOP, 'POST', '/detokenize', {
      key,
      body: `{"a":"{{ ${token.id} }}"}`,
      headers: {
        'content-type': 'application/json',
      },
    }),
    { status: 200 },
  )
  t.equal((await read('https://other.example')).status, 403)
  await call('PUT', `/applications/${shop.id}`, { body: { name: 'Shop', permissions: ['token:create'] } })
  const dropped = await read(SHOP)
  t.match(dropped, { status: 403, json: { code: 'origin_not_allowed' } })
  t.same(corsOf(dropped.headers), [])
})

t.test('origins of a deleted tenant are those of no application', async (t) => {
  const { newTenant, application, preflight, call } = await setUp(t)
  const { key } = await newTenant()
  const grants = { permissions: ['token:create'], allowed_origins: [SHOP] }
  await application(grants as object, 'public', key)
  t.equal((await preflight(SHOP, 'POST', '/tokens')).status, 204)
  t.equal((await call('DELETE', '/tenants/self', { key })).status, 204)
  t.equal((await preflight(SHOP, 'POST', '/tokens')).status, 405)
})

t.test(
  'the limit of an origin counts calls that some application allows, and its 429 can be read',
  async (t) => {
    const admitted: unknown[] = []
    const { shop, from, call, preflight } = await setUp(t, ({ origin }) => {
      admitted.push(origin)
      if (origin !== undefined) throw new AppError('rate_limited', 'Wait.', { retryAfter: 1 })
    })
    const key = await shop([SHOP])
    admitted.splice(0)
    t.match(await from(SHOP, 'POST', '/tokens', { key, body: CARD }), {
      status: 429,
      headers: { 'access-control-allow-origin': SHOP, 'retry-after': '1' },
    })
    t.equal((await from('https://evil.example', 'POST', '/tokens', { key, body: CARD })).status, 403)
    t.equal((await preflight(SHOP, 'POST', '/tokens')).status, 204)
    t.equal((await call('POST', '/tokens', { key, body: CARD })).status, 201)
    t.same(admitted, [SHOP, undefined, undefined, undefined])
  },
)

t.test('two lines with origins are no origin', async (t) => {
  const { shop, admin } = await setUp(t)
  const key = await shop([SHOP])
  const statusOf = (origin: readonly string[]) =>
    new Promise((resolve, reject) => {
      const lines = origin.flatMap((value) => ['origin', value])
      const headers = [...lines, 'host', 'a', 'svc-api-key', key, 'content-type', 'application/json']
      request(`${admin.direct?.address}/tokens`, { method: 'POST', headers }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
        .on('error', reject)
        .end(JSON.stringify(CARD))
    })
  t.equal(await statusOf([SHOP]), 201)
  for (const origins of [
    [SHOP, 'https://evil.example'],
    ['https://evil.example', SHOP],
    [SHOP, SHOP],
  ])
    t.equal(await statusOf(origins), 403)
})
