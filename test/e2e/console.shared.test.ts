import { once } from 'node:events'
import { request } from 'node:http'
import t from 'tap'
import { startOutside } from '../kit/outside.ts'

/** The console's way through Envoy and the gateway, with a real destination. */
const { sidevault, destination, url } = await startOutside()

const { managementKey, port } = sidevault
const OWN = { 'sec-fetch-site': 'same-origin', 'x-sidevault-console': '1' }
const privateKey = await sidevault.application({ permissions: ['token:create', 'token:read', 'token:use'] })

const signIn = async (key: string, cookie?: string): Promise<string> => {
  const headers = { ...OWN, ...(cookie === undefined ? {} : { cookie }) }
  const response = await sidevault.call('POST', '/console/session', { headers, body: { key } })
  t.equal(response.status, 201, response.text)
  return response.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
}
const cookie = await signIn(privateKey, await signIn(managementKey))
const token = (
  await sidevault.call('POST', '/console/api/tokens', {
    headers: { ...OWN, cookie },
    body: { type: 'token', data: 'the value' },
  })
).json.id

t.beforeEach(() => {
  destination.received.length = 0
})

const proxied = (
  headers: Record<string, string> = {},
  { method = 'POST', path = '/console/api/proxy', body = undefined as unknown, to = url('/echo') } = {},
) =>
  sidevault.call(method, path, {
    headers: { ...OWN, cookie, 'svc-proxy-url': to, ...headers },
    ...(body === undefined ? {} : { body }),
  })

t.test(
  'a call of the console reaches the destination as the private key, without headers of the page',
  async (t) => {
    const response = await proxied(
      { origin: sidevault.url, referer: `${sidevault.url}/console/`, 'x-own': 'o', 'sec-ch-ua': 'b' },
      { path: '/console/api/proxy/more?q=1', body: { a: `{{ ${token} }}` } },
    )
    t.equal(response.status, 200, response.text)
    const { method, path, headers, body } = destination.last()
    t.same([method, path, body?.toString()], ['POST', '/echo/more?q=1', '{"a":"the value"}'])
    t.equal(headers['x-own'], 'o')
    for (const name of Object.keys(headers))
      t.notMatch(name, /cookie|origin|referer|^sec-|sidevault|api-key|proxy-/)
    t.equal(response.headers.get('svc-proxy-destination-status'), '200')
    t.ok(response.headers.get('svc-trace-id'))
    t.equal(response.headers.get('content-security-policy'), "sandbox; default-src 'none'")
    t.equal(response.headers.get('x-from'), 'destination')
  },
)

t.test('no response of /proxy can act as a page or script of the console', async (t) => {
  const call = (use?: string) =>
    sidevault.call('GET', '/proxy', {
      key: privateKey,
      headers: { 'svc-proxy-url': url('/echo'), ...(use === undefined ? {} : { 'sec-fetch-dest': use }) },
    })
  for (const use of ['document', 'iframe', 'script', 'serviceworker', 'object', 'empty, document', '']) {
    const { status, json } = await call(use)
    t.equal(status, 403, use)
    t.equal(json.proxy_error.code, 'forbidden')
  }
  t.same(destination.received, [])
  t.equal((await call('empty')).status, 200)
  t.equal((await call()).status, 200)
})

t.test('a destination does not act on the console by its headers', async (t) => {
  const hostile = {
    'set-cookie': `${cookie.split('=')[0]}=con_111111111111111111111111111111111; Path=/`,
    location: `${sidevault.url}/console/api/tenants/self`,
    'clear-site-data': '"*"',
    refresh: '0; url=/console/',
    'service-worker-allowed': '/',
    'strict-transport-security': 'max-age=31536000',
    nel: '{}',
    'report-to': '{}',
    'reporting-endpoints': 'a="https://x.test"',
    'alt-svc': 'h2="x.test:443"',
    'access-control-allow-origin': '*',
    'access-control-allow-credentials': 'true',
    'www-authenticate': 'Basic realm="x"',
    link: '</x>; rel=preload',
    'content-security-policy': 'default-src *',
    'x-content-type-options': 'sniff',
    'cache-control': 'public, max-age=999',
    'content-type': 'text/html',
    'use-as-dictionary': 'match="/*"',
    sourcemap: '/x',
    'x-kept': 'k',
  }
  for (const status of [200, 307, 401, 500]) {
    const response = await proxied(
      { 'x-response': JSON.stringify({ status, headers: hostile, body: '<script>1</script>' }) },
      { to: url('/response'), body: {} },
    )
    t.equal(response.status, status)
    t.equal(response.text, '<script>1</script>')
    const got = Object.fromEntries(response.headers)
    t.match(got, {
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'cross-origin-resource-policy': 'same-origin',
      'content-type': 'text/html',
      'x-kept': 'k',
    })
    for (const name of Object.keys(hostile))
      if (!/^(content-|x-|cache)/.test(name)) t.notOk(name in got, name)
  }
  t.equal((await sidevault.call('GET', '/console/session', { headers: { ...OWN, cookie } })).status, 200)
})

t.test('responses of transforms, of the gateway and of Envoy have guard headers too', async (t) => {
  const key = managementKey
  const create = async (members: object) =>
    (
      await sidevault.call('POST', '/proxies', {
        key,
        body: { name: 'p', destination_url: url('/echo'), ...members },
      })
    ).json.key
  const code = (text: string) => ({ code: `module.exports = async (req) => { ${text} }` })
  const evil = `{ 'set-cookie': 'a=b', 'clear-site-data': '"*"', 'x-kept': 'k' }`
  const proxies = [
    await create({ response_transform: code(`return { body: { a: 1 }, headers: ${evil} }`) }),
    await create({
      request_transform: code(
        `const { CustomHttpResponseError } = require('sidevault'); throw new CustomHttpResponseError({ status: 418, headers: ${evil}, body: { a: 1 } })`,
      ),
    }),
  ]
  for (const proxyKey of proxies) {
    const response = await sidevault.call('POST', '/console/api/proxy', {
      headers: { ...OWN, cookie, 'svc-proxy-key': proxyKey },
      body: {},
    })
    t.same(response.json, { a: 1 }, response.text)
    t.notOk(response.headers.get('set-cookie'))
    t.notOk(response.headers.get('clear-site-data'))
    t.equal(response.headers.get('x-kept'), 'k')
    t.equal(response.headers.get('content-security-policy'), "sandbox; default-src 'none'")
  }
  for (const [sent, status] of [
    [{ 'svc-proxy-url': 'ftp://x' }, 400],
    [{ 'svc-proxy-url': url('/reset') }, 502],
    [{ 'svc-proxy-url': 'https://unknown.invalid/' }, 502],
    [{ cookie: 'a=b' }, 401],
  ] as const) {
    const response = await proxied(sent, { body: {} })
    t.equal(response.status, status)
    t.equal(response.json.proxy_error.status, status)
    t.equal(response.headers.get('content-security-policy'), "sandbox; default-src 'none'")
  }
  const method = await proxied({}, { method: 'OPTIONS' })
  t.same([method.status, method.headers.get('allow')], [405, 'GET, POST, PUT, PATCH, DELETE'])
  t.notOk(method.headers.get('access-control-allow-origin'))
})

t.test('requests of other origins, with keys, and streamed ones are rejected', async (t) => {
  const key = privateKey
  for (const [sent, status] of [
    [{ 'sec-fetch-site': 'same-site' }, 403],
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ 'sec-fetch-site': 'none' }, 403],
    [{ 'sec-fetch-site': '' }, 403],
    [{ 'x-sidevault-console': '' }, 403],
    [{ 'svc-api-key': key }, 400],
    [{ 'bt-api-key': key }, 400],
    [{ 'svc-proxy-stream': 'true' }, 400],
    [{ cookie: `${cookie}; ${cookie}` }, 401],
    [{ cookie: cookie.replace(/=.*/, `=${key}`) }, 401],
  ] as const)
    for (const method of ['GET', 'POST', 'DELETE']) {
      const response = await proxied(sent, { method, ...(method === 'POST' ? { body: {} } : {}) })
      t.equal(response.status, status, `${method} ${JSON.stringify(Object.keys(sent))}: ${response.text}`)
    }
  for (const path of [
    '/console/api/proxyx',
    '/console/api//proxy',
    '/console/api/%70roxy',
    '/console/api/console/api/proxy',
    '/console/proxy',
  ])
    t.equal((await proxied({}, { path, method: 'GET' })).status, 404, path)
  // As it stands: `fetch` takes dot segments out.
  const raw = async (path: string) => {
    const sent = request(sidevault.url, { path, headers: { ...OWN, cookie, 'svc-proxy-url': url() } }).end()
    const [response] = await once(sent, 'response')
    response.resume()
    return response.statusCode
  }
  for (const path of [
    '/console/api/./proxy',
    '/console/api/../proxy',
    '/console/api/x/../proxy',
    '/proxy/../console/api/tokens',
  ])
    t.not(await raw(path), 200, path)
  for (const path of ['/console/api/proxy/../tokens', '/console/api/proxy/%2e%2e/tokens'])
    t.equal(await raw(path), 400, path)
  t.equal(
    (
      await sidevault.call('POST', '/proxy', {
        headers: { ...OWN, cookie, 'svc-proxy-url': url() },
        body: {},
      })
    ).status,
    401,
  )
  t.equal(
    (
      await sidevault.call('POST', '/proxy', {
        key: cookie.split('=')[1] ?? '',
        headers: { 'svc-proxy-url': url() },
        body: {},
      })
    ).status,
    401,
  )
  const grpc = await sidevault.call('POST', '/console/api/tokens', {
    headers: { ...OWN, cookie, 'content-type': 'application/grpc' },
    body: '',
  })
  t.notMatch(grpc.text, /the value/)
  t.same(destination.received, [])
})

t.test("the console's cookie is not sent to destinations of /proxy", async (t) => {
  const send = (sent: string, more: Record<string, string> = {}) =>
    sidevault.call('POST', '/proxy', {
      key: privateKey,
      headers: { cookie: sent, 'svc-proxy-url': url('/echo'), 'content-type': 'text/plain', ...more },
      body: 'x',
    })
  for (const more of [{}, { 'svc-proxy-stream': 'true' }]) {
    for (const name of [
      `__Host-sidevault-console-${port}`,
      '__Host-sidevault-console',
      'sidevault-console-1',
    ]) {
      t.equal((await send(`a=b; ${name}=con_x`, more)).status, 200)
      t.notOk(destination.last().headers.cookie)
    }
    t.equal((await send('a=b; c=d', more)).status, 200)
    t.equal(destination.last().headers.cookie, 'a=b; c=d', 'others do')
  }
})

t.test('a dry run in the console draws the call', async (t) => {
  const response = await proxied({ 'svc-proxy-dry-run': 'true' }, { body: { a: `{{ ${token} }}` } })
  t.equal(response.status, 200)
  t.match(response.json, { forwards: true, tokens: [{ id: token }] })
  t.equal(response.headers.get('content-security-policy'), "sandbox; default-src 'none'")
  t.same(destination.received, [])
})

t.test('a deleted key and a sign-out apply to the next call of the gateway', async (t) => {
  const key = await sidevault.application({ permissions: ['token:use'] })
  const other = await signIn(key)
  t.equal((await proxied({ cookie: other }, { body: {} })).status, 200)
  const { id } = (await sidevault.call('GET', '/applications/key', { key })).json
  await sidevault.call('DELETE', `/applications/${id}`, { key: managementKey })
  t.equal((await proxied({ cookie: other }, { body: {} })).status, 401)
  t.equal((await proxied({}, { body: {} })).status, 200)
  await sidevault.call('DELETE', '/console/session', { headers: { ...OWN, cookie } })
  t.equal((await proxied({}, { body: {} })).status, 401)
  const secret = cookie.split('=')[1] ?? ''
  for (const text of [sidevault.stdout(), sidevault.stderr()])
    for (const part of [secret, privateKey]) t.notMatch(text, part)
})
