import { gzipSync } from 'node:zlib'
import t from 'tap'
import { call, KEYS, startWorld, TOKENS } from '../kit/egress.ts'

const world = await startWorld()
const { destination } = world

t.teardown(() => world.close())
t.beforeEach(() => {
  destination.received.length = 0
  world.far.uses.length = 0
  world.apiPaths.length = 0
})

const { last } = destination
const arrivedBody = () => last().body?.toString() ?? ''
const names = () => last().rawHeaders.filter((_, index) => index % 2 === 0)

t.test('all five methods arrive, with and without a body', async (t) => {
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
    const plain = await world.post('/proxy', { method, to: world.url() })
    t.equal(plain.status, 200)
    t.equal(last().method, method)
    const response = await world.post('/proxy', {
      method,
      to: world.url(),
      headers: { 'content-type': 'text/plain' },
      body: 'number {{ name | raw }}',
    })
    t.equal(response.status, 200)
    t.equal(arrivedBody(), `number ${TOKENS.name?.data}`, method)
    t.equal(Number(last().headers['content-length']), Buffer.byteLength(arrivedBody()))
  }
  t.equal(destination.received.length, 10)
})

t.test('HEAD, OPTIONS, TRACE, CONNECT and unknown methods are 405 and never forwarded', async (t) => {
  for (const method of ['HEAD', 'OPTIONS', 'TRACE', 'PURGE', 'FOO']) {
    for (const path of ['/proxy', '/proxy/x', '/proxy?a=b']) {
      const response = await world.post(path, { method, to: world.url() })
      t.equal(response.status, 405, `${method} ${path}`)
      t.equal(response.headers.allow, 'GET, POST, PUT, PATCH, DELETE')
      t.type(response.headers['svc-trace-id'], 'string')
      if (method !== 'HEAD') t.equal(response.json.proxy_error.status, 405)
    }
  }
  t.same(destination.received, [])
  t.same(world.apiPaths, [])
})

const PATHS: readonly (readonly [string, string, string])[] = [
  ['', '/proxy', '/'],
  ['', '/proxy/', '/'],
  ['/', '/proxy', '/'],
  ['/base', '/proxy', '/base'],
  ['/base/', '/proxy/', '/base'],
  ['/base/', '/proxy/a/b/', '/base/a/b/'],
  ['/base', '/proxy?x=1&y=2', '/base?x=1&y=2'],
  ['/base?k=v', '/proxy/a?x=1', '/base/a?k=v&x=1'],
  ['/base?k=v', '/proxy/a', '/base/a?k=v'],
  ['', '/proxy/a%2Fb/%41/c%20d;e=f//g', '/a%2Fb/%41/c%20d;e=f//g'],
  ['', '/proxy/x?q=../..&%41=%7e&a+b', '/x?q=../..&%41=%7e&a+b'],
]

t.test('the path is base, suffix and query, unchanged', async (t) => {
  for (const [base, path, expected] of PATHS) {
    const response = await world.post(path, { method: 'GET', to: world.url(base) })
    t.equal(response.status, 200, path)
    t.equal(last().path, expected, `${base} + ${path}`)
  }
})

t.test('a suffix that could leave the base path is rejected', async (t) => {
  for (const suffix of [
    '/..',
    '/a/../b',
    '/./a',
    '/%2e%2e/b',
    '/.%2E/b',
    '/a%2f..%2fb',
    '/a%5c..%5cb',
    '/..;x=y/b',
    '/%252e%252e/b',
    '/..%00/b',
    '/..%20/b',
    '/%09../b',
    '/a\\b',
  ]) {
    const response = await world.post(`/proxy${suffix}`, { method: 'GET', to: world.url('/base') })
    t.equal(response.status, 400, suffix)
    t.type(response.json?.proxy_error?.detail, 'string', suffix)
  }
  t.same(destination.received, [])
  t.same(world.apiPaths, [])
})

t.test('a JSON body gets values in place of expressions, everything else is unchanged', async (t) => {
  const body =
    '{ "n":1.10, "big":12345678901234567890, "a":"{{ name }}", "a":"x{{name}}y", "card":"{{card}}" }'
  const response = await world.post('/proxy', {
    to: world.url(),
    headers: { 'content-type': 'application/json' },
    body,
  })
  t.equal(response.status, 200)
  t.equal(
    arrivedBody(),
    '{ "n":1.10, "big":12345678901234567890, "a":"Ada \\"the first\\" Lovelace", "a":"xAda \\"the first\\" Lovelacey", "card":{"number":"4242424242424242","cvc":"123"} }',
  )
  t.same([...(world.far.uses[0]?.ids ?? [])].sort(), ['card', 'name'], 'one read for all ids')
})

t.test('the whole token is available as an object', async (t) => {
  await world.post('/proxy', {
    to: world.url(),
    headers: { 'content-type': 'application/json' },
    body: '{"t":"{{ token: name }}"}',
  })
  t.same(JSON.parse(arrivedBody()).t, {
    id: 'name',
    type: 'token',
    data: TOKENS.name?.data,
    containers: ['/general/high/'],
  })
})

t.test('form fields are decoded, evaluated and encoded', async (t) => {
  await world.post('/proxy', {
    to: world.url(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'a=b+c&name=%7B%7B+name+%7D%7D',
  })
  const fields = new URLSearchParams(arrivedBody())
  t.equal(fields.get('name'), TOKENS.name?.data)
  t.equal(fields.get('a'), 'b c')
})

t.test('a value that looks like an expression is not evaluated again', async (t) => {
  await world.post('/proxy', {
    to: world.url(),
    headers: { 'content-type': 'text/plain' },
    body: '{{ expression }}',
  })
  t.equal(arrivedBody(), '{{ card }}')
})

t.test('a body without expressions is forwarded unchanged, binary ones included', async (t) => {
  const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => (index * 7) % 256))
  for (const type of ['application/octet-stream', 'text/plain', 'image/png']) {
    await world.post('/proxy', { to: world.url(), headers: { 'content-type': type }, body: bytes })
    t.ok(last().body?.equals(bytes), type)
  }
})

t.test('chunked and empty bodies are forwarded as such', async (t) => {
  const chunked = { 'transfer-encoding': 'chunked', 'content-type': 'text/plain' }
  await world.post('/proxy', { to: world.url(), headers: chunked, body: 'a {{ name | raw }}' })
  t.equal(arrivedBody(), `a ${TOKENS.name?.data}`)
  await world.post('/proxy', { to: world.url(), headers: chunked, body: 'nothing here' })
  t.equal(arrivedBody(), 'nothing here')
  await world.post('/proxy', { to: world.url(), headers: chunked })
  t.equal(arrivedBody(), '')
  await world.post('/proxy', { to: world.url(), headers: { 'content-length': '0' } })
  t.equal(arrivedBody(), '')
  t.equal(destination.received.length, 4)
})

t.test('a compressed body is decoded, replaced and sent decoded', async (t) => {
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
  await world.post('/proxy', { to: world.url(), headers, body: gzipSync('{"a":"{{ name }}"}') })
  t.equal(last().headers['content-encoding'], undefined)
  t.same(JSON.parse(arrivedBody()), { a: TOKENS.name?.data })
  const untouched = gzipSync('{"a":1}')
  await world.post('/proxy', { to: world.url(), headers, body: untouched })
  t.equal(last().headers['content-encoding'], 'gzip')
  t.ok(last().body?.equals(untouched))
})

t.test('bodies up to 8 MiB pass, one byte more is 413 and never forwarded', async (t) => {
  const limit = 8 * 1024 * 1024
  for (const size of [1_000_000, limit]) {
    const response = await world.post('/proxy/status/204', { to: world.url(), body: Buffer.alloc(size, 'x') })
    t.equal(response.status, 204)
    t.equal(last().body?.length, size)
  }
  destination.received.length = 0
  const response = await world.post('/proxy', { to: world.url(), body: Buffer.alloc(limit + 1, 'x') })
  t.equal(response.status, 413)
  t.equal(response.json.proxy_error.status, 413)
  t.type(response.headers['svc-trace-id'], 'string')
  t.same(destination.received, [])
})

t.test('a body may grow by its values up to 8 MiB, and no further', async (t) => {
  const limit = 8 * 1024 * 1024
  const grow = (total: number) => {
    const body = '{{ long }}'.repeat(80)
    return body + 'x'.repeat(total - 80 * 100_000)
  }
  const options = { to: world.url(), headers: { 'content-type': 'text/plain' } }
  const fits = await world.post('/proxy/status/204', { ...options, body: grow(limit) })
  t.equal(fits.status, 204, fits.text)
  t.equal(last().body?.length, limit)
  destination.received.length = 0
  for (const total of [limit + 1, 2 * limit]) {
    const response = await world.post('/proxy', { ...options, body: grow(total) })
    t.equal(response.status, 413)
    t.equal(response.json.proxy_error.status, 413)
  }
  t.same(destination.received, [])
})

t.test(
  'own, hop-by-hop and oddly named headers are removed, all others are forwarded unchanged',
  async (t) => {
    const retained = {
      authorization: 'Bearer mine',
      'user-agent': 'agent/1',
      accept: 'a/b',
      cookie: 'a=b; c=d',
      'x-request-id': 'caller-1',
      'x-forwarded-for': '9.9.9.9',
      'x-forwarded-proto': 'gopher',
      'x-forwarded-host': 'somewhere',
      via: '1.1 mine',
      under_score: 'yes',
      'x-empty': '',
      'x-latin1': 'caf\u00e9',
    }
    await world.post('/proxy', {
      to: world.url(),
      headers: {
        ...retained,
        'SVC-IDEMPOTENCY-KEY': 'i',
        'BT-API-KEY': 'other',
        'bt-idempotency-key': 'j',
        connection: 'keep-alive, x-hop, close',
        'x-hop': 'gone',
        te: 'trailers',
        'keep-alive': 'timeout=5',
        'proxy-authorization': 'gone',
        'x.dotted': 'gone',
        'x~odd': 'gone',
        'x-envoy-max-retries': '9',
        'x-envoy-retry-on': '5xx',
        'x-sidevault-forwarded-proto': 'forged',
        'x-sidevault-connection': 'authorization',
      },
    })
    const { headers } = last()
    for (const [name, value] of Object.entries(retained)) t.equal(headers[name], value, name)
    t.equal(headers.host, `dest.test:${destination.port}`)
    const unexpected = names().filter(
      (name) =>
        !(name in retained) &&
        !['host', 'svc-trace-id', 'content-length', 'transfer-encoding', 'connection'].includes(name),
    )
    t.same(unexpected, [])
  },
)

t.test('100 lines and 60 KiB of headers pass, more is 431 and never forwarded', async (t) => {
  const lines = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-line-${index}`, 'v']))
  // Beside these: the API key, the destination and what frames the message.
  for (const body of [undefined, '{"a":"{{ name }}"}']) {
    const type = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': '18' }
    const own = 3 + Object.keys(type).length
    const send = (headers: Record<string, string>) =>
      world.post('/proxy', {
        to: world.url(),
        method: 'PUT',
        headers: { ...type, ...headers },
        ...(body === undefined ? {} : { body }),
      })
    const most = await send(lines(100 - own))
    t.equal(most.status, 200, most.text)
    t.equal(names().filter((name) => name.startsWith('x-line-')).length, 100 - own)
    const large = 'v'.repeat(59 * 1024)
    t.equal((await send({ 'x-large': large })).status, 200)
    t.ok(destination.last().headers['x-large'] === large, 'arrives whole')
    destination.received.length = 0
    for (const headers of [lines(101), { 'x-large': 'v'.repeat(60 * 1024) }])
      t.match(await send(headers), { status: 431, json: { proxy_error: { status: 431 } } })
    t.equal((await send(lines(300))).status, 431)
    t.equal(destination.received.length, 0)
  }
})

t.test('the gateway adds nothing to a request', async (t) => {
  await world.post('/proxy', { method: 'GET', to: world.url() })
  t.same([...names()].filter((name) => name !== 'connection').sort(), ['host', 'svc-trace-id'])
})

t.test('the trace id is echoed and forwarded, and generated when absent or invalid', async (t) => {
  const sent = async (headers: Record<string, string>) => {
    const response = await world.post('/proxy', { method: 'GET', to: world.url(), headers })
    return [response.headers['svc-trace-id'], last().headers['svc-trace-id']] as const
  }
  t.same(await sent({ 'SVC-TRACE-ID': 'my trace 1' }), ['my trace 1', 'my trace 1'])
  for (const odd of ['x'.repeat(201), 'caf\u00e9', '']) {
    const [responded, forwarded] = await sent({ 'svc-trace-id': odd })
    t.match(responded, /^[0-9a-f]{32}$/)
    t.equal(forwarded, responded)
  }
})

t.test('a traceparent names the trace, and is forwarded with a new span; nothing else is', async (t) => {
  const [trace, span] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']
  const traceparent = `00-${trace}-${span}-01`
  const sent = async (headers: Record<string, string | string[]>, body?: string) => {
    const method = body === undefined ? 'GET' : 'POST'
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const options = { method, to: world.url(), headers: { ...type, ...headers } }
    const response = await world.post('/proxy', body === undefined ? options : { ...options, body })
    t.equal(response.status, 200, response.text)
    const arrived: Readonly<Record<string, unknown>> = last().headers
    return { ...arrived, traceId: response.headers['svc-trace-id'] as string } as Record<string, string>
  }
  const tracestate = 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE'
  for (const body of [undefined, '{"a":"{{ name }}"}', '{}']) {
    const arrived = await sent({ traceparent, tracestate }, body)
    t.equal(arrived.traceId, trace)
    t.equal(arrived['svc-trace-id'], trace)
    t.match(arrived.traceparent, new RegExp(`^00-${trace}-(?!${span})[0-9a-f]{16}-01$`))
    t.equal(arrived.tracestate, tracestate)
  }
  t.match(await sent({ traceparent, 'svc-trace-id': 'mine' }), { traceId: 'mine', 'svc-trace-id': 'mine' })
  t.match((await sent({ traceparent: `00-${trace}-${span}-00` })).traceparent, /-00$/, 'flags are kept')
  t.equal((await sent({ traceparent, connection: 'traceparent' })).traceparent, undefined)
  t.equal((await sent({ traceparent, tracestate: '4242424242424242' })).tracestate, undefined)
  for (const invalid of [
    {},
    { traceparent: '4242424242424242', tracestate },
    { traceparent: `00-${'0'.repeat(32)}-${span}-01` },
    { traceparent: [traceparent, `00-${trace}-00f067aa0ba902b8-01`] },
    { tracestate },
  ]) {
    const arrived = await sent(invalid, '{}')
    t.match(arrived.traceId, /^[0-9a-f]{32}$/)
    t.not(arrived.traceId, trace)
    t.equal(arrived.traceparent, undefined)
    t.equal(arrived.tracestate, undefined)
  }
})

t.test('responses have the header prefix of the request', async (t) => {
  const other = await call(world.port, '/proxy', {
    method: 'GET',
    key: null,
    headers: { 'bt-api-key': KEYS.private, 'bt-proxy-url': world.url('/forge') },
  })
  t.equal(other.headers['bt-proxy-destination-status'], '200')
  t.match(other.headers['bt-trace-id'], /^[0-9a-f]{32}$/)
  t.equal(other.headers['svc-proxy-destination-status'], undefined)
  t.equal(other.headers['svc-trace-id'], undefined)
  const canonical = await world.post('/proxy', { method: 'GET', to: world.url('/forge') })
  t.equal(canonical.headers['svc-proxy-destination-status'], '200', 'a forged one is overwritten')
  t.match(canonical.headers['svc-trace-id'], /^[0-9a-f]{32}$/)
  t.equal(canonical.headers['bt-proxy-destination-status'], undefined)
  t.equal(canonical.headers['bt-trace-id'], undefined)
  const rejected = await call(world.port, '/proxy', { key: null, headers: { 'bt-api-key': 'unknown' } })
  t.equal(rejected.status, 401)
  t.type(rejected.headers['bt-trace-id'], 'string')
  const tooLarge = await call(world.port, '/proxy', {
    key: null,
    headers: { 'bt-api-key': KEYS.private, 'bt-proxy-url': world.url(), 'bt-trace-id': 'mine' },
    body: Buffer.alloc(9_000_000),
  })
  t.equal(tooLarge.status, 413)
  t.equal(tooLarge.headers['bt-trace-id'], 'mine')
  t.equal(tooLarge.headers['svc-trace-id'], undefined)
})

t.test('responses of the destination pass unchanged, with any status', async (t) => {
  for (const status of [200, 201, 204, 304, 400, 401, 404, 409, 500, 502, 503, 504]) {
    const response = await world.post(`/proxy/status/${status}`, { method: 'GET', to: world.url() })
    t.equal(response.status, status)
    t.equal(response.headers['svc-proxy-destination-status'], String(status))
    t.equal(response.headers['x-from'], 'destination')
    if (status !== 204 && status !== 304) t.equal(response.text, 'as it is')
  }
  t.equal(destination.received.length, 12, 'each was sent once')
  const redirect = await world.post('/proxy/redirect', { method: 'GET', to: world.url() })
  t.equal(redirect.status, 302)
  t.equal(redirect.headers.location, 'https://elsewhere.test/')
})

/** A destination that responds with these HTTP/1.1 heads, one after the other. */
const raw = (...heads: readonly string[]) =>
  world.url(`/raw?bytes=${encodeURIComponent(heads.map((head) => `HTTP/1.1 ${head}\r\n\r\n`).join(''))}`)

t.test('interim responses of the destination are dropped, and the final one arrives', async (t) => {
  const to = raw(
    '100 Continue',
    '103 Early Hints\r\nlink: </x>',
    '201 Made\r\nconnection: close\r\ncontent-length: 0',
  )
  const response = await world.post('/proxy', { to, body: 'x' })
  t.equal(response.status, 201)
  t.equal(response.headers['svc-proxy-destination-status'], '201')
  t.equal(response.headers.link, undefined)
})

t.test('denied requests are rejected before anything is forwarded', async (t) => {
  const cases: readonly (readonly [string, number, Parameters<typeof call>[2], string?])[] = [
    ['no key', 401, { key: null, to: world.url() }],
    ['an unknown key', 401, { key: 'unknown', to: world.url() }],
    ['a public application', 403, { key: KEYS.public, to: world.url() }],
    ['a management application', 403, { key: KEYS.management, to: world.url() }],
    ['no token:use', 403, { key: KEYS.idle, to: world.url() }],
    ['no destination', 400, {}],
    ['an unknown proxy key', 404, { headers: { 'svc-proxy-key': 'abc' }, to: world.url() }],
    ['an unknown proxy key, no API key', 404, { key: null }, '/proxy?svc-proxy-key=abc'],
    ['an unknown token', 400, { to: world.url(), body: '{{ unknown }}' }],
    ['a token that may not be used', 403, { to: world.url(), body: '{{ denied }}' }],
    ['an unclosed expression', 400, { to: world.url(), body: '{{ name' }],
    ['a vault that fails', 500, { to: world.url(), body: '{{ down }}' }],
    ['two destinations', 400, { headers: { 'svc-proxy-url': [world.url(), world.url()] } }],
  ]
  for (const [name, status, options, path = '/proxy'] of cases) {
    const response = await world.post(path, {
      ...options,
      headers: { 'content-type': 'text/plain', ...options?.headers },
    })
    t.equal(response.status, status, name)
    t.equal(response.json.proxy_error.status, status, name)
    t.equal(response.headers['content-type'], 'application/json; charset=utf-8')
    t.type(response.headers['svc-trace-id'], 'string')
    t.equal(response.headers['svc-proxy-destination-status'], undefined)
    t.notMatch(response.text, /4242/)
  }
  t.same(destination.received, [])
})

t.test('an access rule that grants token:use is enough', async (t) => {
  t.equal((await world.post('/proxy', { method: 'GET', key: KEYS.rules, to: world.url() })).status, 200)
})

t.test('a vault that does not respond is 504 within the step timeout', async (t) => {
  const slow = await startWorld({ gateway: { limits: { stepMs: 200 } } })
  t.teardown(() => slow.close())
  const response = await slow.post('/proxy', {
    to: slow.url(),
    headers: { 'content-type': 'text/plain' },
    body: '{{ slow }}',
  })
  t.equal(response.status, 504)
  t.equal(response.json.proxy_error.code, 'gateway_timeout')
  t.same(slow.destination.received, [])
})

t.test('connection failures to the destination have the statuses of the table', async (t) => {
  world.dns.set('untrusted.test', { a: ['127.0.0.1'] })
  world.dns.set('failing.test', { fail: true })
  world.dns.set('silent.test', { silent: true })
  const cases: readonly (readonly [string, string, number, number])[] = [
    ['an unknown name', world.url('', 'nx.test'), 502, 0],
    ['a failing name server', world.url('', 'failing.test'), 502, 0],
    ['a name server that does not respond', world.url('', 'silent.test'), 502, 0],
    ['a name that the certificate does not have', world.url('', 'untrusted.test'), 502, 0],
    ['a closed port', 'https://dest.test:1', 502, 0],
    ['a connection that breaks', world.url('/reset'), 502, 1],
    ['a tunnel', raw('101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade'), 502, 1],
    ['a status that is none', raw('099 None'), 502, 1],
  ]
  for (const [name, to, status, arrivals] of cases) {
    destination.received.length = 0
    const response = await world.post('/proxy', { to, body: 'x' })
    t.equal(response.status, status, name)
    t.equal(response.json.proxy_error.status, status, name)
    t.equal(response.headers['svc-proxy-destination-status'], undefined, name)
    t.type(response.headers['svc-trace-id'], 'string')
    t.equal(destination.received.length, arrivals, `${name}: sent at most once`)
  }
})

t.test('a response that starts too late is 408; one that starts in time may take longer', async (t) => {
  const hasty = await startWorld({ bootstrap: { egress: { timeoutMs: 2_000 } } })
  t.teardown(() => hasty.close())
  const late = await hasty.post('/proxy', { to: hasty.url('/slow?ms=600000'), body: 'x' })
  t.equal(late.status, 408)
  t.equal(late.json.proxy_error.status, 408)
  t.equal(hasty.destination.received.length, 1, 'sent once')
  const response = await hasty.post('/proxy/sse?n=5&ms=600', { method: 'GET', to: hasty.url() })
  t.equal(response.status, 200)
  t.equal(response.text, 'data: 0\n\ndata: 1\n\ndata: 2\n\ndata: 3\n\ndata: 4\n\n')
})

t.test('a request on a keep-alive connection that was reset is sent at most once', async (t) => {
  await world.post('/proxy', { method: 'GET', to: world.url() })
  destination.received.length = 0
  const response = await world.post('/proxy', { to: world.url('/reset'), body: 'pay once' })
  t.equal(response.status, 502)
  t.equal(destination.received.length, 1)
  t.equal((await world.post('/proxy', { method: 'GET', to: world.url() })).status, 200)
})

t.test('all paths but /proxy are routed to the API', async (t) => {
  for (const path of [
    '/',
    '/healthz',
    '/tokens',
    '/proxyfoo',
    '/proxies',
    '/PROXY',
    '//proxy',
    '/./proxy/a',
  ]) {
    const response = await world.post(path, { method: 'GET' })
    t.equal(response.text, 'api', path)
  }
  t.equal(world.apiPaths.length, 8)
})

t.test('requests are counted and timed by stage', async (t) => {
  const { registry } = world.far.deps.metrics
  const text = await registry.metrics()
  t.match(text, /sidevault_requests_total\{operation="proxy",status="forwarded"\} \d+/)
  t.match(text, /sidevault_requests_total\{operation="proxy",status="401"\} \d+/)
  for (const stage of ['authenticate', 'plan', 'use', 'apply'])
    t.match(text, new RegExp(`sidevault_stage_duration_seconds_count\\{stage="${stage}"\\} \\d+`))
})
