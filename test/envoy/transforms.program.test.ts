import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
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

const JSON_TYPE = { 'content-type': 'application/json' }
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' }
const IDENTITY = 'module.exports = ({ args: { body, headers } }) => ({ body, headers })'

/** The text of a module whose function has this body; `args`, `configuration` and `req` are there. */
const code = (body: string) =>
  `module.exports = async (req) => { const { args, configuration } = req; const { body, headers } = args; ${body} }`

const store = (world: World, more: Partial<StoredProxy> = {}) => {
  const proxy = { id: 'proxy-id', tenantId: 'tenant', requireAuth: true, configuration: {}, ...more }
  world.far.proxies.set('proxy', { destinationUrl: world.url(), ...proxy })
}

for (const protocol of ['h1', 'h2'] as const) {
  const world = worlds[protocol]
  const { destination, far } = world
  const send = (path = '/proxy', options: Parameters<typeof call>[2] = {}) =>
    CALLS[protocol](world.port, path, {
      ...options,
      headers: { 'svc-proxy-key': 'proxy', ...options.headers },
    })
  const { last } = destination
  const arrived = () => last().body?.toString() ?? ''
  const clear = () => {
    destination.received.length = 0
    far.runs.length = 0
    far.uses.length = 0
    far.records.length = 0
  }
  /** Calls through a proxy with this request transform. */
  const request = async (text: string, options: Parameters<typeof call>[2], path = '/proxy') => {
    clear()
    store(world, { requestTransform: text })
    return send(path, options)
  }
  /** Calls through a proxy with this response transform, to a destination with this response. */
  const response = async (
    text: string,
    response: {
      status?: number
      headers?: Record<string, string | string[]>
      body?: string
      base64?: string
    },
    more: Partial<StoredProxy> = {},
    options: Parameters<typeof call>[2] = {},
  ) => {
    clear()
    store(world, { responseTransform: text, destinationUrl: world.url('/response'), ...more })
    return send('/proxy', { body: 'x', ...options, headers: { 'x-response': JSON.stringify(response) } })
  }

  t.test(
    `${protocol}: a request transform sees the detokenized request, and what it returns goes out`,
    async (t) => {
      const response = await request(
        code("return { body: { seen: args, of: configuration }, headers: { ...headers, 'X-New': 'n' } }"),
        {
          method: 'PUT',
          headers: { ...JSON_TYPE, 'x-old': 'o', cookie: 'a=b', 'idempotency-key': 'mine' },
          body: '{"name":"{{ name }}"}',
        },
        '/proxy/a/b?x=1&svc-proxy-key=proxy&y=%20',
      )
      t.equal(response.status, 200)
      const { seen } = JSON.parse(arrived())
      t.same(seen.body, { name: TOKENS.name?.data })
      t.match(seen, { method: 'PUT', path: '/a/b', query: '?x=1&y=%20' })
      t.match(seen.headers, { 'x-old': 'o', cookie: 'a=b', ...JSON_TYPE, 'idempotency-key': 'mine' })
      t.notMatch(Object.keys(seen.headers).join(' '), /svc-|:|host|content-length|x-envoy|x-sidevault/)
      t.equal(last().headers['x-new'], 'n')
      t.equal(last().headers['x-old'], 'o')
      t.equal(Number(last().headers['content-length']), arrived().length)
      t.equal(last().path, '/a/b?x=1&y=%20')
      t.same(far.runs[0]?.applicationId, undefined)
    },
  )

  t.test(`${protocol}: a form is an object, with lists for repeated fields, and a form again`, async (t) => {
    const form = { headers: FORM_TYPE, body: 'a=b+c&l=1&l=2&card=%7B%7B+name+%7D%7D&__proto__=x' }
    await request(code('body.n = 5; body.more = ["x", "y&"]; return { body, headers }'), form)
    t.equal(
      arrived(),
      new URLSearchParams([
        ['a', 'b c'],
        ['l', '1'],
        ['l', '2'],
        ['card', String(TOKENS.name?.data)],
        ['__proto__', 'x'],
        ['n', '5'],
        ['more', 'x'],
        ['more', 'y&'],
      ]).toString(),
    )
    const nested = await request(code('return { body: { a: { b: 1 } }, headers }'), form)
    t.equal(nested.status, 400)
  })

  t.test(`${protocol}: the returned content type decides how the body is written`, async (t) => {
    const json = { headers: JSON_TYPE, body: '{"a":"b","n":[1]}' }
    await request(
      code("headers['content-type'] = 'application/x-www-form-urlencoded'; return { body, headers }"),
      json,
    )
    t.equal(arrived(), 'a=b&n=1')
    await request(code("return { body: '<a>é</a>', headers: { 'Content-Type': 'text/xml' } }"), json)
    t.equal(arrived(), '<a>é</a>')
    t.equal(last().headers['content-type'], 'text/xml')
    await request(code("return { body: [1, null, 'x'], headers }"), json)
    t.equal(arrived(), '[1,null,"x"]')
    await request(code('return { body: null, headers }'), json)
    t.equal(arrived(), '')
    await request(code('return { body: { c: 1 }, headers: {} }'), json)
    t.equal(arrived(), '{"c":1}')
    t.equal(last().headers['content-type'], 'application/json', 'what is returned without a type keeps it')
    const wrong = await request(code("return { body, headers: { 'content-type': 'text/xml' } }"), json)
    t.equal(wrong.status, 400)
    t.match(wrong.json.proxy_error.detail, /request_transform/)
    await request(IDENTITY, {
      headers: { 'content-type': 'application/vnd.x+json; charset=utf-8' },
      body: '"s"',
    })
    t.equal(arrived(), '"s"')
  })

  t.test(`${protocol}: other types and requests without a type are not transformed`, async (t) => {
    const add = code("return { body: {}, headers: { 'x-added': '1' } }")
    for (const [type, body] of [
      ['text/plain', 'a {{ name | raw }}'],
      ['application/xml', '<a>{{ name }}</a>'],
      ['application/octet-stream', '\0{{ name'],
    ] as const) {
      t.equal((await request(add, { headers: { 'content-type': type }, body })).status, 200)
      t.equal(arrived(), body.replace(/{{ name[^}]*}}/, String(TOKENS.name?.data)))
    }
    t.equal((await request(add, { method: 'GET' })).status, 200)
    t.same(far.runs, [])
    t.notOk('x-added' in last().headers)
  })

  t.test(
    `${protocol}: a request without a body is transformed by its type, and stays without a body`,
    async (t) => {
      const get = { method: 'GET', headers: JSON_TYPE }
      const response = await request(
        code("headers['x-body'] = JSON.stringify(body); return { body, headers }"),
        get,
      )
      t.equal(response.status, 200)
      t.equal(last().headers['x-body'], '{}')
      t.equal(arrived(), '')
      t.notOk('content-length' in last().headers || 'transfer-encoding' in last().headers)
      t.equal((await request(code('return { body: { a: 1 }, headers }'), { headers: JSON_TYPE })).status, 200)
      t.equal(arrived(), '{"a":1}', 'unless the transform gives it one')
      const coded = { ...JSON_TYPE, 'content-encoding': 'gzip' }
      t.equal((await request(code('return { body: { a: 1 }, headers }'), { headers: coded })).status, 200)
      t.notOk('content-encoding' in last().headers, 'which has no coding')
    },
  )

  t.test(`${protocol}: code gets filtered headers, may add others, and never sets framing`, async (t) => {
    const headers = { ...JSON_TYPE, 'x.odd': '1', 'x-a': '1', 'x-b': '2' }
    const response = await request(
      code(`if ('x.odd' in headers) throw 1
        return { body, headers: { 'content-type': 'application/json', 'X-A': 'changed', 'x.odd': '2', list: ['1', '2'], n: 5, none: null,
          host: 'evil.test', 'Content-Length': '1', 'transfer-encoding': 'chunked', connection: 'x-a', te: 'trailers',
          ':authority': 'evil.test', ':path': '/evil', upgrade: 'h2c', 'proxy-authorization': 'x', 'keep-alive': '1',
          'svc-api-key': 'key', 'SVC-PROXY-KEY': 'key', 'svc-trace-id': 'forged', 'x-envoy-retry-on': '5xx',
          'x-sidevault-connection': 'x', 'content-encoding': 'gzip', trailer: 'x' } }`),
      { headers, body: '{"a":1}' },
    )
    t.equal(response.status, 200)
    const got = last().headers
    t.equal(got['x-a'], 'changed')
    t.notOk('x-b' in got, 'a header that is not returned is gone')
    t.equal(got['x.odd'], '2')
    t.equal(got.list, '1, 2')
    t.equal(got.n, '5')
    t.equal(got['content-length'], '7')
    t.equal(last().path, '/')
    t.notMatch(JSON.stringify(got), /evil|forged|key"|retry|gzip|chunked|h2c|"none"|trailer/)
    for (const [name, text] of [
      ['a bad name', "'a b': '1'"],
      ['a bad value', "x: 'a\\r\\nb: c'"],
      ['a character that no header holds', "x: '\\u20ac'"],
      ['an object', 'x: { y: 1 }'],
      ['too much', "x: 'y'.repeat(40000)"],
    ] as const) {
      const rejected = await request(code(`return { body, headers: { ${text} } }`), {
        headers: JSON_TYPE,
        body: '{}',
      })
      t.equal(rejected.status, 400, name)
      t.match(rejected.json.proxy_error.detail, /request_transform/)
    }
    t.same(destination.received, [])
  })

  t.test(
    `${protocol}: compressed requests are decoded first, unknown codings and broken bodies rejected`,
    async (t) => {
      const plain = '{"a":"{{ name }}"}'
      for (const [coding, bytes] of [
        ['gzip', gzipSync(plain)],
        ['deflate', deflateSync(plain)],
        ['br', brotliCompressSync(plain)],
      ] as const) {
        await request(IDENTITY, { headers: { ...JSON_TYPE, 'content-encoding': coding }, body: bytes })
        t.same(JSON.parse(arrived()), { a: TOKENS.name?.data }, coding)
        t.notOk('content-encoding' in last().headers)
      }
      for (const [name, status, headers, body] of [
        ['an unknown coding', 415, { ...JSON_TYPE, 'content-encoding': 'zstd' }, 'x'],
        ['no JSON', 400, JSON_TYPE, '{"a":'],
        ['JSON that is too deep', 400, JSON_TYPE, '['.repeat(100) + ']'.repeat(100)],
        ['more than code takes', 413, JSON_TYPE, JSON.stringify('x'.repeat(5_000_001))],
      ] as const) {
        const response = await request(IDENTITY, { headers, body })
        t.equal(response.status, status, name)
        t.equal(response.json.proxy_error.status, status)
      }
      t.same(destination.received, [])
    },
  )

  t.test(
    `${protocol}: a request transform may add lines to a request with the maximum of lines`,
    async (t) => {
      const added = code(
        "for (let i = 0; i < 25; i++) headers['x-added-' + i] = 'v'; headers['x-list'] = Array(4).fill('v'); return { body, headers }",
      )
      // The same name, so that code sees one.
      const many = { headers: { ...JSON_TYPE, 'x-many': Array(80).fill('v') }, body: '{"a":1}' }
      t.equal((await request(added, many)).status, 200)
      const sent = last().rawHeaders.filter(
        (name, index) => index % 2 === 0 && /^x-(added|list|many)/.test(name),
      )
      t.equal(sent.length, 25 + 4 + 80)
    },
  )

  t.test(`${protocol}: an error of code is a proxy_error, and nothing is forwarded`, async (t) => {
    const body = { headers: JSON_TYPE, body: '{"a":1}' }
    for (const [name, text, status, detail] of [
      ['it throws', code("throw new Error('the reason')"), 400, /request_transform.*the reason/],
      ['it returns nothing', code(''), 400, /request_transform returned something else/],
      ['it returns a text', code("return 'x'"), 400, /returned something else/],
      ['no headers', code('return { body }'), 400, /returned something else/],
      ['no body', code('return { headers }'), 400, /returned something else/],
      ['headers are a list', code('return { body, headers: [] }'), 400, /returned something else/],
      ['it exports nothing', 'const a = 1', 422, /request_transform/],
      [
        'a typed error',
        "module.exports = () => { throw new AppError('code_failed', 'The card', { response: { status: 402 } }) }",
        402,
        /The card/,
      ],
      [
        'no room',
        "module.exports = () => { throw new AppError('overloaded', 'Full.', { retryAfter: 1 }) }",
        503,
        /Full/,
      ],
    ] as const) {
      const response = await request(text, body)
      t.equal(response.status, status, name)
      t.equal(response.json.proxy_error.status, status, name)
      t.match(response.json.proxy_error.detail, detail, name)
      t.equal(response.headers['svc-proxy-destination-status'], undefined)
      if (status === 503) t.equal(response.headers['retry-after'], '1')
    }
    t.same(destination.received, [])
    t.notMatch(far.records, [{ message: /denied/ }])
  })

  t.test(`${protocol}: errors of code are not shown to callers without a key`, async (t) => {
    clear()
    store(world, { requestTransform: code("throw new Error('4242')"), requireAuth: false })
    const response = await send('/proxy', { key: null, headers: JSON_TYPE, body: '{}' })
    t.equal(response.status, 400)
    t.match(response.json.proxy_error.detail, /request_transform/)
    t.notMatch(response.text, /4242/)
    store(world, { responseTransform: code("throw new Error('4242')"), requireAuth: false })
    const late = await send('/proxy', { key: KEYS.private, headers: JSON_TYPE, body: '{}' })
    t.equal(late.status, 400)
    t.match(late.json.proxy_error.detail, /response_transform/)
    t.notMatch(late.text, /4242/)
  })

  t.test(`${protocol}: a response created by code replaces the destination's, in either phase`, async (t) => {
    const own = (response: string) =>
      `module.exports = () => { throw new AppError('code_failed', 'x', { response: ${response} }) }`
    const custom = own(
      "{ status: 418, headers: { 'x-own': '1', 'Content-Length': '0', 'svc-trace-id': 'f' }, body: { a: 1 } }",
    )
    const early = await request(custom, { headers: JSON_TYPE, body: '{}' })
    const late = await response(custom, { headers: JSON_TYPE, body: '{}' })
    for (const response of [early, late]) {
      t.equal(response.status, 418)
      t.equal(response.headers['x-own'], '1')
      t.same(response.json, { a: 1 })
      t.not(response.headers['svc-trace-id'], 'f')
    }
    t.equal(early.headers['svc-proxy-destination-status'], undefined)
    t.equal(late.headers['svc-proxy-destination-status'], '200')
    const text = await request(own("{ status: 200, body: 'fine' }"), { headers: JSON_TYPE, body: '{}' })
    t.equal(text.text, 'fine')
    t.equal(text.headers['content-type'], 'text/plain; charset=utf-8')
  })

  t.test(`${protocol}: a response transform replaces body and headers of a 2xx response`, async (t) => {
    for (const status of [200, 201, 202]) {
      const got = await response(
        code(
          "return { body: { got: args }, headers: { 'content-type': 'application/json', 'set-cookie': [...headers['set-cookie'], 'c=3'], 'x.y': 'z', connection: 'x' } }",
        ),
        {
          status,
          headers: { ...JSON_TYPE, 'x-theirs': 'gone', 'set-cookie': ['a=1', 'b=2'], etag: '"1"' },
          body: '{"card":"4242"}',
        },
        { configuration: { a: 1 } },
      )
      t.equal(got.status, status)
      t.same(got.json.got.body, { card: '4242' })
      t.same(Object.keys(got.json.got), ['body', 'headers'])
      t.match(got.json.got.headers, { etag: '"1"', 'set-cookie': ['a=1', 'b=2'], 'x-theirs': 'gone' })
      t.notMatch(Object.keys(got.json.got.headers).join(' '), /svc-|:|content-length|bt-/)
      t.notOk('x-theirs' in got.headers || 'etag' in got.headers)
      t.same(got.headers['set-cookie'], ['a=1', 'b=2', 'c=3'])
      t.equal(got.headers['x.y'], 'z')
      t.equal(got.headers['svc-proxy-destination-status'], String(status))
      t.type(got.headers['svc-trace-id'], 'string')
      t.equal(Number(got.headers['content-length']), Buffer.byteLength(got.text))
    }
    t.equal(destination.received.length, 1)
    t.equal(far.runs[0]?.name, 'response_transform')
  })

  t.test(
    `${protocol}: a response transform runs for requests without a body, and after a request transform`,
    async (t) => {
      const replaced = code('return { body: { replaced: body }, headers }')
      const response = { headers: { ...JSON_TYPE }, body: '{"a":1}' }
      for (const [more, options] of [
        [{}, { method: 'GET', body: undefined }],
        [{ requestTransform: code("headers['x-r'] = '1'; return { body, headers }") }, {}],
      ] as const) {
        clear()
        store(world, { responseTransform: replaced, destinationUrl: world.url('/response'), ...more })
        const got = await send('/proxy', {
          ...('body' in options ? { method: 'GET' } : { body: '{}' }),
          headers: { ...JSON_TYPE, 'x-response': JSON.stringify(response) },
        })
        t.same(got.json, { replaced: { a: 1 } })
        if ('requestTransform' in more) t.equal(last().headers['x-r'], '1')
      }
    },
  )

  t.test(`${protocol}: responses with other statuses or without a body pass unchanged`, async (t) => {
    const never = code("throw new Error('it ran')")
    for (const given of [
      { status: 400, headers: JSON_TYPE, body: '{"a": 1}' },
      { status: 302, headers: { ...JSON_TYPE, location: '/x' }, body: '{"a": 1}' },
      { status: 500, headers: JSON_TYPE, body: '{' },
      { status: 204, headers: JSON_TYPE },
      { status: 200, headers: { ...JSON_TYPE, 'content-length': '0' } },
      { status: 200, headers: { 'content-type': 'text/html', 'content-length': '0' } },
      { status: 200, headers: {} },
    ]) {
      const got = await response(never, given)
      t.equal(got.status, given.status, JSON.stringify(given))
      t.equal(got.text, given.body ?? '')
      t.equal(got.headers['svc-proxy-destination-status'], String(given.status))
    }
    t.same(far.runs, [])
  })

  t.test(`${protocol}: an unreadable 2xx response fails closed unless the proxy lets it pass`, async (t) => {
    const hide = code('return { body: { hidden: true }, headers }')
    for (const headers of [
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/xml' },
      { 'content-type': 'text/event-stream' },
      ...(protocol === 'h1' ? [{ 'content-type': 'text/plain', 'transfer-encoding': 'chunked' }] : []),
      {},
    ] as Record<string, string>[]) {
      const given = { status: 200, headers, body: '{"pan":"378282246310005"}' }
      const got = await response(hide, given)
      t.equal(got.status, 502, JSON.stringify(headers))
      t.notMatch(got.text, /378282246310005/)
      t.equal(JSON.parse(got.text).proxy_error.status, 502)
      const passed = await response(hide, given, { responseOtherwise: 'pass' })
      t.equal(passed.status, 200, JSON.stringify(headers))
      t.equal(passed.text, given.body)
    }
    t.same(far.runs, [])
  })

  t.test(`${protocol}: compressed responses are decoded first`, async (t) => {
    const plain = JSON.stringify({ a: 'é' })
    for (const [coding, bytes] of [
      ['gzip', gzipSync(plain)],
      ['deflate', deflateSync(plain)],
      ['br', brotliCompressSync(plain)],
    ] as const) {
      const got = await response(code('body.b = 1; return { body, headers }'), {
        headers: { ...JSON_TYPE, 'content-encoding': coding },
        base64: bytes.toString('base64'),
      })
      t.same(got.json, { a: 'é', b: 1 }, coding)
      t.notOk('content-encoding' in got.headers)
    }
  })

  t.test(`${protocol}: a response that its transform cannot process never reaches the caller`, async (t) => {
    const card = '4242424242424242'
    for (const [name, status, given] of [
      ['no JSON', 502, { headers: JSON_TYPE, body: `{"card":"${card}"` }],
      ['an unknown coding', 502, { headers: { ...JSON_TYPE, 'content-encoding': 'zstd' }, body: card }],
      ['a broken coding', 502, { headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, body: card }],
      ['two types', 502, { headers: { 'content-type': 'application/json, text/plain' }, body: card }],
    ] as const) {
      const got = await response(IDENTITY, given)
      t.equal(got.status, status, name)
      t.equal(got.json.proxy_error.status, status, name)
      t.equal(got.headers['svc-proxy-destination-status'], '200', name)
      t.type(got.headers['svc-trace-id'], 'string')
      t.notMatch(got.text, /4242/)
    }
  })

  t.test(`${protocol}: a response larger than the buffer, or than the limit of code, is 502`, async (t) => {
    for (const path of [
      '/large-json?bytes=9000000',
      '/large-json?bytes=9000000&length=1',
      '/large-json?bytes=5000000',
    ]) {
      clear()
      store(world, { responseTransform: IDENTITY, destinationUrl: world.url(path) })
      const got = await send('/proxy', { body: 'x' })
      t.equal(got.status, 502, path)
      t.equal(got.json.proxy_error.status, 502)
      // Envoy's own reply to a full buffer has none when it comes before the gateway's reply to the headers.
      t.match(got.headers['svc-proxy-destination-status'] ?? '200', '200')
    }
  })

  t.test(
    `${protocol}: an error of code on a response is a proxy_error with the destination's status`,
    async (t) => {
      for (const [text, status] of [
        [code("throw new Error('the reason')"), 400],
        [code('return 5'), 400],
        ['const a = 1', 422],
        ["module.exports = () => { throw new AppError('overloaded', 'Full.') }", 503],
      ] as const) {
        const got = await response(text, { status: 201, headers: JSON_TYPE, body: '{"card":"4242"}' })
        t.equal(got.status, status, text)
        t.equal(got.json.proxy_error.status, status)
        t.match(got.json.proxy_error.detail, status === 503 ? /Full/ : /response_transform/)
        t.equal(got.headers['svc-proxy-destination-status'], '201')
        t.notMatch(got.text, /4242/)
      }
    },
  )

  t.test(`${protocol}: connection failures keep their statuses when a response is transformed`, async (t) => {
    for (const [path, host, status] of [
      ['/reset', undefined, 502],
      ['', 'nx.test', 502],
    ] as const) {
      clear()
      store(world, { responseTransform: IDENTITY, destinationUrl: world.url(path, host) })
      const got = await send('/proxy', { body: 'x' })
      t.equal(got.status, status)
      t.equal(got.json.proxy_error.status, status)
      t.equal(got.headers['svc-proxy-destination-status'], undefined)
    }
    t.same(far.runs, [])
  })

  t.test(`${protocol}: events stream through a proxy whose response transform allows it`, async (t) => {
    clear()
    store(world, {
      responseTransform: IDENTITY,
      responseOtherwise: 'pass',
      destinationUrl: world.url('/sse?n=2&ms=10'),
    })
    const got = await send('/proxy', { body: 'x' })
    t.equal(got.text, 'data: 0\n\ndata: 1\n\n')
  })
}

t.test('a response that is incomplete in time for its transform is 408', async (t) => {
  const world = await startWorld({ gateway: { limits: { responseMs: 50 } } })
  t.teardown(() => world.close())
  const headers = { ...JSON_TYPE, 'content-length': '100' }
  for (const more of [{}, { responseOtherwise: 'pass' }] as const) {
    store(world, { responseTransform: IDENTITY, destinationUrl: world.url('/response'), ...more })
    const got = await world.post('/proxy', {
      body: 'x',
      headers: { 'svc-proxy-key': 'proxy', 'x-response': JSON.stringify({ headers, body: '{"card":"4242' }) },
    })
    t.equal(got.status, 408)
    t.match(got.json.proxy_error, { status: 408, code: 'destination_timeout' })
    t.equal(got.headers['svc-proxy-destination-status'], '200')
    t.notMatch(got.text, /4242/)
    t.equal(await world.envoy.stat('cluster.destination_https.upstream_rq_active'), 0)
    t.equal(await world.envoy.stat('cluster.gateway.upstream_rq_active'), 0)
  }
})
