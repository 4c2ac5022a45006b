import t, { type Test } from 'tap'
import type { Log } from '../../../src/common/log.ts'
import { type CallOptions, type ServiceOptions, startTestService, testClock } from '../../kit/service.ts'
import { openInThread } from '../../kit/store-in-thread.ts'

const MINUTE = 60_000
const OWN = { host: '127.0.0.1:8080', 'sec-fetch-site': 'same-origin', 'x-sidevault-console': '1' }

/** The `name=value` that a response sets. */
const cookieOf = ({ headers }: { readonly headers: Readonly<Record<string, unknown>> }): string =>
  String(headers['set-cookie']).split(';', 1)[0] ?? ''

const setUp = async (t: Test, { shared = false, ...options }: ServiceOptions & { shared?: boolean } = {}) => {
  const service = await startTestService(t, {
    ...(shared ? {} : { openStore: openInThread }),
    ...options,
    admin: { console: true, prefixes: ['SVC', 'BT'], ...options.admin },
  })
  const call = (method: string, path: string, sent: CallOptions = {}) =>
    service.call(method, path, { key: null, ...sent, headers: { ...OWN, ...sent.headers } })
  const signIn = async (key: string, cookie?: string) =>
    call('POST', '/console/session', {
      body: { key },
      ...(cookie === undefined ? {} : { headers: { cookie } }),
    })
  const privateKey = await service.application({ permissions: ['token:create', 'token:read', 'token:use'] })
  return { ...service, call, signIn, privateKey }
}

/** For tests that need no settings, and leave it as it is. */
const shared = await setUp(t)

t.test('signing in gives a cookie that calls below /console/api go out with', async (t) => {
  const { call, signIn, managementKey, tenantId } = shared
  const response = await signIn(managementKey)
  t.equal(response.status, 201)
  t.match(
    response.headers['set-cookie'],
    /^sidevault-console-8080=con_[1-9A-Za-z]{30,40}; Path=\/console\/; HttpOnly; SameSite=Strict$/,
  )
  t.match(response.json, {
    management: {
      application: { name: 'Bootstrap', type: 'management' },
      permissions: ['application:create'],
      tenant: { id: tenantId, name: 'First' },
    },
    expires_at: '2026-03-01T20:00:00.000+00:00',
    idle_expires_at: '2026-03-01T12:30:00.000+00:00',
  })
  t.notOk(response.json.private)
  t.notMatch(response.text, /key_|con_/)
  const headers = { cookie: cookieOf(response) }
  const who = await call('GET', '/console/session', { headers })
  t.same([who.status, who.json], [200, response.json])
  const list = await call('GET', '/console/api/applications?size=1', { headers })
  t.equal(list.status, 200)
  t.match(list.headers, {
    'content-security-policy': "sandbox; default-src 'none'",
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'cross-origin-resource-policy': 'same-origin',
  })
  const created = await call('POST', '/console/api/applications', {
    headers,
    body: { name: 'n', type: 'private', permissions: ['token:read'] },
  })
  t.equal(created.status, 201)
  t.notOk(created.headers.location, 'no header that a browser follows')
  t.equal((await call('GET', '/console/api/tokens', { headers })).status, 403)
})

t.test('GET /requests polls of a page are not listed as calls, all other calls are', async (t) => {
  const { call, signIn, managementKey } = await setUp(t)
  const cookie = cookieOf(await signIn(managementKey))
  const background = { cookie, 'x-sidevault-console': 'background' }
  const routes = async () => {
    const { json } = await call('GET', '/console/api/requests?size=1000&console=true', {
      headers: background,
    })
    return json.data.map(({ method, route }: Record<string, string>) => `${method} ${route}`)
  }
  await call('GET', '/console/api/requests/destinations', { headers: background })
  await call('GET', '/console/api/applications', { headers: { cookie } })
  await call('GET', '/console/api/applications', { headers: background })
  const body = { name: 'n', type: 'private', permissions: ['token:read'] }
  t.equal((await call('POST', '/console/api/applications', { headers: background, body })).status, 201)
  t.same((await routes()).slice(0, 4), [
    'POST /applications',
    'GET /applications',
    'GET /applications',
    'POST /console/session',
  ])
  const { json } = await call('GET', '/console/api/requests', { headers: background })
  t.match(json.data, [{ method: 'POST', route: '/applications' }], 'only those with a key unless asked for')
  t.equal(json.data.length, 1)
})

t.test('each call uses the key that has the permission', async (t) => {
  const { call, signIn, managementKey, privateKey } = shared
  const first = cookieOf(await signIn(managementKey))
  const response = await signIn(privateKey, first)
  t.match(response.json, {
    management: {},
    private: { permissions: ['token:create', 'token:read', 'token:use'] },
  })
  const headers = { cookie: cookieOf(response) }
  t.not(headers.cookie, first)
  t.equal((await call('GET', '/console/session', { headers: { cookie: first } })).status, 401)
  const created = await call('POST', '/console/api/tokens', { headers, body: { type: 'token', data: 'x' } })
  t.equal(created.status, 201)
  t.equal((await call('GET', `/console/api/tokens/${created.json.id}`, { headers })).json.data, undefined)
  t.equal((await call('GET', '/console/api/applications', { headers })).status, 200)
  t.match((await call('DELETE', `/console/api/tokens/${created.json.id}`, { headers })).json, {
    status: 403,
    detail: /"token:delete"/,
  })
  const unknown = { nonce: 'unknown', permissions: ['token:create'] }
  const authorized = await call('POST', '/console/api/sessions/authorize', { headers, body: unknown })
  t.equal(authorized.json.code, 'session_not_found', 'with the private key')
  const logs = await call('GET', '/console/api/logs?entity_type=console_session', { headers })
  t.match(
    logs.json.data.map((log: { message: string }) => log.message),
    ['Console session created (private key added)', 'Console session created (management key)'],
  )
})

t.test('a call looks its session up once, and counts for the address and then for the key', async (t) => {
  let lookups = 0
  const counted: { readonly key?: string | undefined; readonly keyId?: string | undefined }[] = []
  const { call, signIn, managementKey } = await setUp(t, {
    openStore: (location) => {
      const store = openInThread(location)
      const changes = (collections: readonly string[]) => {
        if (collections.includes('console_sessions')) lookups++
        return store.records.changes(collections)
      }
      return { ...store, records: { ...store.records, changes } }
    },
    admin: { admit: (client) => void counted.push(client) },
  })
  const headers = { cookie: cookieOf(await signIn(managementKey)) }
  const body = { name: 'n', type: 'private', permissions: ['token:read'] }
  for (const [method, sent] of [
    ['GET', { headers }],
    ['POST', { headers, body }],
  ] as const) {
    lookups = 0
    counted.length = 0
    const { status } = await call(method, '/console/api/applications', sent)
    t.ok(status < 300)
    t.equal(lookups, 1)
    t.match(counted, [
      { key: undefined, keyId: undefined },
      { key: undefined, keyId: String },
    ])
  }
})

t.test('a session takes keys of management and private applications, of one tenant', async (t) => {
  const { signIn, application, newTenant, managementKey, call } = shared
  t.match((await signIn('key_unknown')).json, { status: 401 })
  t.match((await signIn('')).json, { status: 400, errors: { key: Array } })
  const open = await application({ permissions: ['token:create'] }, 'public')
  t.match((await signIn(open)).json, { status: 403, code: 'forbidden' })
  const session = await call('POST', '/sessions', { headers: { 'svc-api-key': open } })
  t.equal((await signIn(session.json.session_key)).status, 403)
  const cookie = cookieOf(await signIn(managementKey))
  t.equal((await signIn((await newTenant()).key, cookie)).status, 409)
  t.equal((await call('GET', '/console/session', { headers: { cookie } })).status, 200, 'it stays')
  t.equal((await signIn(cookie.split('=')[1] ?? '')).status, 401, 'no secret is a key')
})

t.test('a session ends on sign-out, when idle, after 8 hours, or with its keys', async (t) => {
  const clock = testClock()
  const { call, signIn, managementKey, privateKey, application } = await setUp(t, { clock })
  const status = async (cookie: string, value = '1') =>
    (await call('GET', '/console/session', { headers: { cookie, 'x-sidevault-console': value } })).status

  const out = cookieOf(await signIn(managementKey))
  const left = await call('DELETE', '/console/session', { headers: { cookie: out } })
  t.equal(left.status, 204)
  t.equal(
    left.headers['set-cookie'],
    'sidevault-console-8080=; Path=/console/; HttpOnly; SameSite=Strict; Max-Age=0',
  )
  t.equal(await status(out), 401)
  t.equal((await call('GET', '/console/api/applications', { headers: { cookie: out } })).status, 401)
  t.equal((await call('DELETE', '/console/session', { headers: { cookie: out } })).status, 204)

  const used = cookieOf(await signIn(managementKey))
  for (let at = 0; at < 3; at++) {
    clock.advance(29 * MINUTE)
    t.equal(await status(used), 200)
  }
  clock.advance(29 * MINUTE)
  t.equal(await status(used, 'background'), 200)
  clock.advance(MINUTE)
  t.equal(await status(used), 401, 'calls of no person do not hold it')
  clock.advance(-20 * MINUTE)
  t.equal(await status(used), 401, 'it was deleted')

  const long = cookieOf(await signIn(managementKey))
  for (let at = 0; at < 19; at++) {
    clock.advance(25 * MINUTE)
    t.equal(await status(long), 200)
  }
  clock.advance(5 * MINUTE)
  t.equal(await status(long), 401)

  const cookie = cookieOf(await signIn(privateKey))
  const other = await application({ permissions: ['application:read', 'log:read'] }, 'management')
  const both = cookieOf(await signIn(other, cookieOf(await signIn(privateKey))))
  const { json } = await call('GET', '/applications/key', { headers: { 'svc-api-key': privateKey } })
  const [key] = (
    await call('GET', `/applications/${json.id}/keys`, { headers: { 'svc-api-key': managementKey } })
  ).json
  await call('DELETE', `/applications/${json.id}/keys/${key.id}`, {
    headers: { 'svc-api-key': managementKey },
  })
  t.equal(await status(cookie), 401)
  const rest = await call('GET', '/console/session', { headers: { cookie: both } })
  t.match([rest.status, rest.json], [200, { management: {}, private: undefined }])
  t.equal((await call('GET', '/console/api/tokens', { headers: { cookie: both } })).status, 403)
  const logs = await call('GET', '/console/api/logs?entity_type=console_session&size=100', {
    headers: { cookie: both },
  })
  const messages = logs.json.data.map((log: { message: string }) => log.message)
  for (const why of ['signed out', 'idle', 'after its longest time', 'its keys have ended'])
    t.ok(messages.includes(`Console session deleted (${why})`), why)
})

t.test('a session ends with its tenant', async (t) => {
  const { call, signIn, newTenant } = shared
  const cookie = cookieOf(await signIn((await newTenant()).key))
  const deleted = await call('DELETE', '/console/api/tenants/self', { headers: { cookie } })
  t.equal(deleted.status, 204)
  t.equal((await call('GET', '/console/session', { headers: { cookie } })).status, 401)
})

t.test('requests that another origin makes a browser send are denied', async (t) => {
  const { call, signIn, managementKey } = shared
  const cookie = cookieOf(await signIn(managementKey))
  const tried = async (method: string, path: string, site: string | undefined, own: boolean) => {
    const { 'x-sidevault-console': header, 'sec-fetch-site': _, ...headers } = { ...OWN, cookie }
    return (
      await call(method, path, {
        headers: {
          ...headers,
          'sec-fetch-site': site ?? '',
          'x-sidevault-console': own ? header : '',
        },
        ...(method === 'POST' ? { body: { key: managementKey } } : {}),
      })
    ).json?.status
  }
  for (const [method, path] of [
    ['POST', '/console/session'],
    ['GET', '/console/session'],
    ['DELETE', '/console/session'],
    ['POST', '/console/api/applications'],
    ['PUT', '/console/api/tenants/self'],
    ['PATCH', '/console/api/proxies/x'],
    ['DELETE', '/console/api/tenants/self'],
  ] as const)
    for (const [site, own] of [
      ['cross-site', true],
      ['same-site', true],
      ['none', true],
      ['same-origin, cross-site', true],
      ['Same-Origin', true],
      ['', true],
      ['same-origin', false],
    ] as const)
      t.equal(await tried(method, path, site, own), 403, `${method} ${path} from ${site}`)
  for (const site of ['cross-site', 'same-site', 'other'])
    t.equal(await tried('GET', '/console/api/applications', site, true), 403)
  for (const site of ['none', 'same-origin'])
    t.equal(await tried('GET', '/console/api/applications', site, false), undefined)
  t.equal((await call('OPTIONS', '/console/api/applications')).status, 405)
  t.equal((await call('GET', '/console/session', { headers: { cookie } })).status, 200, 'nothing ended it')
})

t.test('the cookie counts below /console/api alone, and in one form', async (t) => {
  const { call, signIn, managementKey } = shared
  const cookie = cookieOf(await signIn(managementKey))
  const [name, secret] = cookie.split('=') as [string, string]
  const status = async (path: string, headers: Record<string, string> = { cookie }) =>
    (await call('GET', path, { headers })).status
  t.equal(await status('/applications'), 401)
  t.equal(await status('/applications', { 'svc-api-key': secret }), 401)
  t.equal(await status('/console/api/applications', { 'svc-api-key': managementKey }), 400)
  t.equal(await status('/console/api/applications', { cookie, 'bt-api-key': managementKey }), 400)
  for (const path of [
    '/console/api',
    '/console/api/',
    '/console/api//applications',
    '/console//api/applications',
    '//console/api/applications',
    '/console/api/../applications',
    '/console/api/%2e%2e/applications',
    '/console/api/..%2fapplications',
    '/console/api%2fapplications',
    '/%63onsole/api/applications',
    '/console/api/console/api/applications',
    '/console/api/console/session',
    '/console/api/%63onsole/session',
    '/console/api/console/',
    '/console/api/docs',
    '/console/api/docs/api',
    '/console/api/%64ocs',
    '/console/api/ca.pem',
    '/console/api/proxy',
    '/CONSOLE/api/applications',
    '/console/apiapplications',
    '/sidevault.v1.Applications/List',
    '/console/api/sidevault.v1.Applications/List',
  ])
    t.equal(await status(path), 404, path)
  t.equal(await status('/console/api/healthz'), 200)
  for (const odd of [
    `${cookie}; ${name}=other`,
    `${cookie}; ${cookie}`,
    `${name}="${secret}"`,
    `${name}=${secret} x`,
    `${name}=${secret}%20`,
    `${name}=${encodeURIComponent(`${secret}\n`)}`,
    `${name.toUpperCase()}=${secret}`,
    `x${cookie}`,
    `sidevault-console=${secret}`,
    `sidevault-console-8081=${secret}`,
    `__Host-${cookie}`,
    `${name}=${secret}${'1'.repeat(200)}`,
    `${name}=`,
    `${name}`,
    `x=${cookie}`,
    `x="; ${cookie.slice(0, -1)}`,
  ])
    t.equal(await status('/console/api/applications', { cookie: odd }), 401, odd.slice(0, 60))
  t.equal(await status('/console/api/applications', { cookie: `a=b;${cookie} ; c=d` }), 200)
})

t.test('the cookie is bound to its host and needs TLS, except on plain loopback', async (t) => {
  const { call, managementKey } = shared
  for (const [host, proto, start, end] of [
    ['127.0.0.1:8080', 'http', 'sidevault-console-8080=', 'Strict'],
    ['localhost', 'http', 'sidevault-console=', 'Strict'],
    ['[::1]:9', 'http', 'sidevault-console-9=', 'Strict'],
    ['127.0.0.1:8080', 'https', '__Host-sidevault-console-8080=', 'Secure'],
    ['vault.example', 'https', '__Host-sidevault-console=', 'Secure'],
    ['vault.example:8443', 'http', '__Host-sidevault-console-8443=', 'Secure'],
    ['127.0.0.1.example:80', 'http', '__Host-sidevault-console-80=', 'Secure'],
    ['localhost.example', 'http', '__Host-sidevault-console=', 'Secure'],
  ] as const) {
    const headers = { host, 'x-forwarded-proto': proto }
    const response = await call('POST', '/console/session', { headers, body: { key: managementKey } })
    const cookie = cookieOf(response)
    t.ok(cookie.startsWith(start), host)
    t.ok(response.headers['set-cookie']?.endsWith(end))
    t.equal((await call('GET', '/console/session', { headers: { ...headers, cookie } })).status, 200)
    const elsewhere = { ...headers, host: 'other.example', cookie }
    t.equal(
      (await call('GET', '/console/session', { headers: elsewhere })).status,
      host === 'vault.example' || host === 'localhost.example' ? 200 : 401,
    )
  }
})

t.test('two services on one store share sessions', async (t) => {
  const first = await setUp(t, { shared: true })
  const second = await setUp(t, { shared: true, beside: first })
  const cookie = cookieOf(await first.signIn(first.managementKey))
  t.equal((await second.call('GET', '/console/session', { headers: { cookie } })).status, 200)
  await second.call('DELETE', '/console/session', { headers: { cookie } })
  t.equal((await first.call('GET', '/console/session', { headers: { cookie } })).status, 401)
})

t.test('a service without the console has none of its paths', async (t) => {
  const { call } = await setUp(t, { admin: { console: false } })
  for (const path of ['/console/session', '/console/api/applications', '/console/'])
    t.equal((await call('GET', path)).status, 404)
})

t.test('neither key nor secret is in a log line, an audit record or metrics', async (t) => {
  const lines: string[] = []
  const write = (...line: unknown[]) => void lines.push(JSON.stringify(line))
  const log = { info: write, warn: write, error: write, debug: write, child: () => log } as unknown as Log
  const { call, signIn, managementKey } = await setUp(t, { log })
  const cookie = cookieOf(await signIn(managementKey))
  const secret = cookie.split('=')[1] ?? ''
  await call('GET', '/console/api/applications', { headers: { cookie } })
  await call('GET', '/console/api/fail', { headers: { cookie } })
  await call('DELETE', '/console/session', { headers: { cookie } })
  const metrics = await call('GET', '/metrics')
  const logs = await call('GET', '/logs', { headers: { 'svc-api-key': managementKey } })
  t.ok(lines.some((line) => line.includes('console session created')))
  t.ok(lines.some((line) => line.includes('console session ended')))
  for (const text of [lines.join('\n'), metrics.text, logs.text])
    for (const part of [secret, managementKey]) t.notMatch(text, part)
})
