import t, { type Test } from 'tap'
import type { Log } from '../../../src/common/log.ts'
import { type CallOptions, type ServiceOptions, startTestService } from '../../kit/service.ts'
import { openInThread } from '../../kit/store-in-thread.ts'
import { invalidAt, thingsPlugin } from '../kit.ts'

const setUp = async (t: Test, options: ServiceOptions = {}) => {
  const service = await startTestService(t, {
    openStore: openInThread,
    plugins: [thingsPlugin()],
    ...options,
  })
  return {
    ...service,
    call: (method: string, path: string, sent: CallOptions = {}) =>
      service.call(method, path, { key: null, ...sent }),
  }
}

const json = { 'content-type': 'application/json' }

t.test('routing', async (t) => {
  const { call } = await setUp(t)

  t.test('a trailing slash makes no difference', async (t) => {
    t.equal((await call('POST', '/things/', { body: { name: 'a' } })).status, 201)
    t.equal((await call('GET', '/things/')).status, 200)
    t.equal((await call('GET', '/things/?page=2')).json.input.page, 2)
    t.equal((await call('GET', '/things/x/')).json.input.id, 'x')
  })

  t.test('an unknown path is 404, with the error shape and a trace id, whatever the body', async (t) => {
    for (const [method, path, sent] of [
      ['GET', '/nothing', {}],
      ['POST', '/nothing', { body: '{', headers: json }],
      ['POST', '/nothing', { body: 'x', headers: { 'content-type': 'text/weird' } }],
      ['GET', '/things/a/b/c', {}],
      ['OPTIONS', '/nothing', {}],
    ] as const) {
      const response = await call(method, path, sent)
      t.equal(response.status, 404)
      t.match(response.json, { code: 'not_found', status: 404 })
      t.equal(response.headers['content-type'], 'application/json; charset=utf-8')
      t.ok(response.headers['svc-trace-id'])
    }
  })

  t.test('a known path with another method is 405, with Allow', async (t) => {
    for (const [method, path, allow] of [
      ['PUT', '/things', 'POST, GET, HEAD'],
      ['OPTIONS', '/things/', 'POST, GET, HEAD'],
      ['TRACE', '/things', 'POST, GET, HEAD'],
      ['POST', '/things/x', 'GET, HEAD, PATCH, DELETE'],
      ['POST', '/healthz', 'GET, HEAD'],
      ['HEAD', '/whole', 'POST'],
      ['GET', '/things/x/links/1?a=b', 'POST'],
      ['OPTIONS', '/things/first', 'POST'],
      ['OPTIONS', '/things/last', 'GET, HEAD, PATCH, DELETE'],
    ] as const) {
      const response = await call(method, path)
      t.equal(response.status, 405, `${method} ${path}`)
      t.equal(response.headers.allow, allow)
      if (method !== 'HEAD') t.match(response.json, { code: 'method_not_allowed', status: 405 })
    }
  })

  t.test('HEAD responds as GET does, without a body', async (t) => {
    const get = await call('GET', '/things/x')
    const head = await call('HEAD', '/things/x')
    t.equal(head.status, 200)
    t.equal(head.text, '')
    t.equal(head.headers['content-length'], get.headers['content-length'])
    t.equal((await call('HEAD', '/healthz')).status, 200)
    t.equal((await call('HEAD', '/nothing')).status, 404)
  })

  t.test('members of a path are percent-decoded exactly once', async (t) => {
    const decoded = async (text: string) => (await call('GET', `/things/${text}`)).json.input.id
    t.equal(await decoded('a%20b'), 'a b')
    t.equal(await decoded('a%2Fb'), 'a/b')
    t.equal(await decoded('a%252Fb'), 'a%2Fb')
    t.equal(await decoded('%2541'), '%41')
    t.equal(await decoded('a+b'), 'a+b')
    t.equal(await decoded('%C3%A9'), 'é')
    t.equal(await decoded('a%3Fb%23c'), 'a?b#c')
    t.equal(await decoded('__proto__'), '__proto__')
    t.equal(await decoded('%F0%9F%98%80'.repeat(400)), '😀'.repeat(400))
  })

  t.test('a percent sign that encodes nothing is 400', async (t) => {
    for (const text of ['%', '%zz', 'a%2', '%ff', '%C3%28']) {
      const response = await call('GET', `/things/${text}`, { headers: { 'svc-trace-id': 'mine' } })
      t.equal(response.status, 400, text)
      t.match(response.json, { code: 'malformed', status: 400 })
      t.equal(response.headers['svc-trace-id'], 'mine')
      t.notMatch(response.text, /zz|ff/)
    }
  })

  t.test('members of a path have the type that the schema says', async (t) => {
    t.strictSame((await call('POST', '/things/a/links/7')).json.input, { id: 'a', n: 7 })
    const response = await call('POST', '/things/a/links/seven')
    t.equal(response.status, 400)
    t.match(response.json, invalidAt('n'))
  })
})

t.test('bodies', async (t) => {
  const { call } = await setUp(t)
  const post = (body: string, type: string | null = 'application/json', path = '/things') =>
    call('POST', path, { body, headers: type === null ? {} : { 'content-type': type } })

  t.test('JSON in UTF-8 is accepted however its type is written', async (t) => {
    for (const type of [
      'application/json',
      'application/json; charset=utf-8',
      'application/json;charset="UTF-8"',
      'Application/JSON',
      'application/json; profile=x',
    ])
      t.equal((await post('{"name":"é"}', type)).json?.input?.name, 'é', type)
  })

  t.test('other content types are 415', async (t) => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/json; charset=utf-16',
      'application/merge-patch+json',
      'application/jsonx',
      'nonsense',
      null,
    ]) {
      const response = await post('{"name":"a"}', type)
      t.equal(response.status, 415, String(type))
      t.match(response.json, { code: 'unsupported_media_type', status: 415 })
    }
  })

  t.test('compressed bodies are 415, whatever they contain', async (t) => {
    const coded = (coding: string, body = '{"name":"a"}') =>
      call('POST', '/things', { body, headers: { ...json, 'content-encoding': coding } })
    for (const coding of ['gzip', 'br', 'identity, gzip'])
      t.match((await coded(coding)).json, { status: 415, code: 'unsupported_media_type' }, coding)
    t.equal((await coded('Identity')).status, 201)
    const untaken = { body: 'x', headers: { 'content-encoding': 'gzip' } }
    t.equal((await call('POST', '/things/a/links/1', untaken)).status, 200, 'no body is taken there')
  })

  t.test('merge patch is accepted where the operation consumes it', async (t) => {
    for (const type of ['application/merge-patch+json', 'application/json']) {
      const response = await call('PATCH', '/things/1', {
        body: '{"name":"n"}',
        headers: { 'content-type': type },
      })
      t.strictSame(response.json.input, { id: '1', name: 'n' })
    }
    const other = { body: '{}', headers: { 'content-type': 'application/json-patch+json' } }
    t.equal((await call('PATCH', '/things/1', other)).status, 415)
  })

  t.test('a call without a body may carry any content type, or {}', async (t) => {
    for (const type of ['text/plain', 'application/json', 'nonsense', undefined]) {
      const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type }
      t.equal((await call('POST', '/things/a/links/1', { headers })).status, 200, String(type))
      t.equal((await call('DELETE', '/things/a', { headers })).status, 204, String(type))
      t.equal((await call('PATCH', '/things/a', { headers })).status, 200, String(type))
    }
    t.equal((await post('{}', 'application/json', '/things/a/links/1')).status, 200)
    t.equal((await call('DELETE', '/things/a', { body: '{}', headers: json })).status, 204)
  })

  t.test('a body that is not JSON is 400', async (t) => {
    for (const body of [
      '{',
      '{"name":}',
      "{'name':1}",
      '\u0000',
      'name=a',
      '{"name":"a"} x',
      ' ',
      '{"a":"\ud800"}',
    ]) {
      const response = await post(body)
      t.equal(response.status, 400, body)
      t.match(response.json, { status: 400, code: /^(malformed|invalid)$/ })
    }
    t.match((await post('{"name":"a","free":"\\ud800"}')).json, { status: 400, code: 'malformed' })
    t.match((await post('{"name":"a","free":{"\\uDFFF":1}}')).json, { status: 400, code: 'malformed' })
    t.equal((await post('{"name":"a","free":"\\ud83d\\ude00"}')).json.input.free, '😀')
  })

  t.test('a number that loses precision is 400', async (t) => {
    const sent = (number: string) => post(`{"name":"a","free":${number}}`)
    for (const number of [
      '12345678901234567890',
      '-9007199254740993',
      '1e400',
      '[{"a":-1E999}]',
      '[9007199254740993]',
      '[0,-9007199254740993]',
      '{"a":9007199254740993}',
      '[1,\n9007199254740993]',
      '9007199254740993.0',
      '9.007199254740993e15',
      '900719925474099.3e1',
      '-123456789012345678.9',
      '1e-400',
      '0.1E-400',
      `-0.${'0'.repeat(400)}1`,
    ])
      t.match((await sent(number)).json, { status: 400, code: 'malformed' }, number)
    for (const number of [
      '9007199254740992',
      '9007199254740992.0',
      '10000000000000000000',
      '1e20',
      '6.02214076e23',
      '1.7976931348623157E+308',
      '5e-324',
      '1.10',
      '0.1000000000000000055',
      '0',
      '-0.0e-400',
    ])
      t.equal((await sent(number)).json.input.free, Number(number), number)
    t.equal((await sent('"\\"12345678901234567890 1e999"')).status, 201)
  })

  t.test('a body that is not UTF-8 is 400', async (t) => {
    const { admin } = await setUp(t)
    const response = await admin.app.inject({
      method: 'POST',
      url: '/things',
      headers: json,
      payload: Buffer.from([0x7b, 0x22, 0x6e, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d]),
    })
    t.equal(response.statusCode, 400)
    t.match(response.json(), { code: 'malformed' })
  })

  t.test('64 levels are accepted, 65 and a million are 400', async (t) => {
    const nested = (levels: number) =>
      `{"name":"a","free":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
    t.equal((await post(nested(64))).status, 201)
    t.match((await post(nested(65))).json, { status: 400, code: 'malformed' })
    t.equal((await post(nested(500_000))).status, 400)
  })

  t.test('60,000 arrays, 60,000 members and 2,000 names are accepted, one more is 400', async (t) => {
    const arrays = (count: number) =>
      `{"name":"a","free":[${Array(count - 2)
        .fill('[]')
        .join()}]}`
    const members = (count: number, names = 1_000) =>
      `{"name":"\\":[{","free":{${Array.from({ length: count - 2 }, (_, i) => `"m${i % names}":0`).join()}}}`
    for (const [make, most, detail] of [
      [arrays, 60_000, /arrays and objects/],
      [members, 60_000, /60000 members/],
      [(count: number) => members(count, count), 2_000, /2000 different names/],
    ] as const) {
      t.equal((await post(make(most))).status, 201)
      t.match((await post(make(most + 1))).json, { status: 400, detail })
    }
  })

  t.test('a body of the limit is accepted, one byte more is 413', async (t) => {
    const { call } = await setUp(t, { admin: { bodyLimit: 1000 } })
    const sized = (size: number) => `{"name":"a","free":"${'x'.repeat(size - 22)}"}`
    t.equal(sized(1000).length, 1000)
    t.equal((await call('POST', '/things', { body: sized(1000), headers: json })).status, 201)
    const response = await call('POST', '/things', { body: sized(1001), headers: json })
    t.equal(response.status, 413)
    t.match(response.json, { code: 'too_large', status: 413 })
  })

  t.test('null, arrays and scalars are rejected where an object is expected', async (t) => {
    for (const body of ['null', '[]', '[{"name":"a"}]', '"name"', '1', 'true']) {
      const response = await post(body)
      t.equal(response.status, 400, body)
      t.match(response.json, invalidAt('body'))
    }
  })

  t.test('an absent body counts as an object without members', async (t) => {
    t.match((await call('POST', '/things')).json, invalidAt('name'))
  })

  t.test('unknown members are ignored, at any depth', async (t) => {
    const response = await post('{"name":"a","x":1,"parts":[{"size":1,"y":2}],"free":{"z":3}}')
    t.strictSame(response.json.input, { name: 'a', parts: [{ size: 1 }], free: { z: 3 } })
  })

  t.test('__proto__ and constructor are plain data and pollute nothing', async (t) => {
    const text =
      '{"name":"a","__proto__":{"evil":1},"constructor":{"prototype":{"evil":1}},"free":{"__proto__":{"evil":1}}}'
    const response = await post(text)
    t.equal(response.status, 201)
    t.equal(response.text, '{"input":{"name":"a","free":{"__proto__":{"evil":1}}}}')
    t.equal(({} as { evil?: unknown }).evil, undefined)
    t.match((await post('{"__proto__":{"name":"a"}}')).json, invalidAt('name'))
    t.equal((await post('{"name":"a","name":"b"}')).json.input.name, 'b', 'of duplicates the last counts')
  })

  t.test('issues are reported by property path, without values', async (t) => {
    const response = await post(
      '{"name":"4242424242424242","parts":[{"size":1},{"size":"4242424242424242"},{}]}',
    )
    t.equal(response.status, 400)
    t.strictSame(response.json.errors, {
      name: ['must have at most 5 characters'],
      'parts[1].size': ['must be an integer'],
      'parts[2].size': ['is required'],
    })
    t.notMatch(response.text, /42424242/)
  })

  t.test('an operation may use the whole body as one member of its input and of its output', async (t) => {
    for (const body of ['null', '[]', '0', '"x"', '{"a":[1]}'])
      t.equal((await post(body, 'application/json', '/whole?dry=true')).text, `{"value":${body},"dry":true}`)
    t.match((await call('POST', '/whole')).json, invalidAt('body'))
    t.match((await post('{}', 'application/json', '/strict')).json, invalidAt('number'))
    t.match((await post('[]', 'application/json', '/strict')).json, invalidAt('body'))
  })
})

t.test('queries', async (t) => {
  const { call } = await setUp(t)
  const listed = async (query: string) => (await call('GET', `/things?${query}`)).json

  t.test('values have the type that the schema says, unknown members are ignored', async (t) => {
    t.strictSame((await listed('page=3&flag=true&name=5&other=x')).input, { page: 3, flag: true, name: '5' })
    t.strictSame((await listed('')).input, { page: 1 })
    t.strictSame((await listed('page=&flag=&name=')).input, { page: 1, name: '' })
    t.equal((await listed(`page=1${'0'.repeat(30)}`)).input.page, 1e30)
    t.match(await listed(`page=1${'0'.repeat(400)}`), invalidAt('page'))
    t.match(await listed('page=x'), invalidAt('page'))
    t.match(await listed('page=1.5'), invalidAt('page'))
    t.match(await listed('page=0x10'), invalidAt('page'))
    t.match(await listed('page=1e9999'), invalidAt('page'))
    t.match(await listed('page=0'), invalidAt('page'))
    t.match(await listed('page=1&page=2'), invalidAt('page'))
    t.match(await listed('flag=yes'), invalidAt('flag'))
    t.match(await listed('name=a&name=b'), invalidAt('name'))
  })

  t.test('repeated members are arrays, a single one too where the schema says so', async (t) => {
    t.strictSame((await listed('ids=a&ids=b')).input.ids, ['a', 'b'])
    t.strictSame((await listed('ids=a')).input.ids, ['a'])
    t.strictSame((await listed('ids[]=a&ids%5B%5D=b')).input.ids, ['a', 'b'])
  })

  t.test('maps have three spellings, which may be mixed', async (t) => {
    const color = { color: 'red' }
    t.strictSame((await listed('metadata.color=red')).input.metadata, color)
    t.strictSame((await listed('metadata[color]=red')).input.metadata, color)
    t.strictSame((await listed('metadata%5Bcolor%5D=red')).input.metadata, color)
    t.strictSame((await listed('metadata={"color":"red"}')).input.metadata, color)
    t.strictSame((await listed('metadata=%7B%22color%22%3A%22red%22%7D&metadata.a.b=1')).input.metadata, {
      ...color,
      'a.b': '1',
    })
    t.equal((await listed('metadatax=1&metadata=')).input.metadata, undefined)
    t.match(await listed('metadata=red'), invalidAt('metadata'))
    t.match(await listed('metadata=[1]'), invalidAt('metadata'))
    t.match(await listed('metadata={"color":1}'), invalidAt('metadata.color'))
    t.equal(JSON.stringify((await listed('metadata.__proto__=x')).input.metadata), '{"__proto__":"x"}')
  })

  t.test('text is decoded as forms are, and broken encodings stay text', async (t) => {
    t.equal((await listed('name=a+b%20c')).input.name, 'a b c')
    t.equal((await listed('name=100%')).input.name, '100%')
  })
})

t.test('responses', async (t) => {
  const { call } = await setUp(t)

  t.test('201 carries an absolute Location', async (t) => {
    const location = async (headers: Record<string, string>) =>
      (await call('POST', '/things', { body: { name: 'a' }, headers })).headers.location
    t.equal(await location({ host: 'vault.example:8443' }), 'http://vault.example:8443/things/a%20b')
    t.equal(
      await location({ host: '[::1]:80', 'x-forwarded-proto': 'https' }),
      'https://[::1]:80/things/a%20b',
    )
    t.equal(
      await location({ host: 'a b"<>' }),
      'http://localhost/things/a%20b',
      'a strange host is not repeated',
    )
    const configured = await setUp(t, { admin: { baseUrl: 'https://api.example.com/vault/' } })
    t.equal(
      (await configured.call('POST', '/things', { body: { name: 'a' } })).headers.location,
      'https://api.example.com/vault/things/a%20b',
    )
  })

  t.test('204 has no body and no content type', async (t) => {
    const response = await call('DELETE', '/things/a')
    t.equal(response.status, 204)
    t.equal(response.text, '')
    t.equal(response.headers['content-type'], undefined)
  })

  t.test('successful responses are JSON with no-store and nosniff', async (t) => {
    t.match((await call('GET', '/things')).headers, {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
  })

  t.test('429 carries Retry-After in whole seconds', async (t) => {
    const response = await call('GET', '/fail/rate_limited')
    t.equal(response.status, 429)
    t.equal(response.headers['retry-after'], '2')
  })

  t.test('internal errors are 500 without their cause', async (t) => {
    const response = await call('GET', '/fail/internal')
    t.equal(response.status, 500)
    t.match(response.json, { code: 'internal', status: 500, detail: String })
    t.notMatch(response.text, /42424242/)
  })

  t.test('a call that exceeds its time is 504', async (t) => {
    const slow = await setUp(t, { admin: { callTimeout: 20 } })
    const response = await slow.call('GET', '/wait')
    t.equal(response.status, 504)
    t.match(response.json, { status: 504, code: 'gateway_timeout' })
  })
})

t.test('keys', async (t) => {
  const { call } = await setUp(t)

  t.test('without a key the response is 401, before any validation', async (t) => {
    for (const sent of [
      { body: '{', headers: json },
      { body: 'x', headers: { 'content-type': 'text/plain' } },
      { body: '[]', headers: json },
      { body: { name: 'a' } },
      {},
    ]) {
      const response = await call('POST', '/secrets', sent)
      t.equal(response.status, 401)
      t.match(response.json, { code: 'unauthenticated', status: 401 })
      t.equal(response.headers['content-type'], 'application/json; charset=utf-8')
    }
  })

  t.test('a body above the limit is 401 without a key, 413 with one', async (t) => {
    const { call } = await setUp(t, { admin: { bodyLimit: 10 } })
    const body = { name: 'a long enough name' }
    t.equal((await call('POST', '/secrets', { body })).status, 401)
    t.equal((await call('POST', '/secrets', { body, key: 'key_1' })).status, 413)
  })
})

t.test('header prefixes and trace ids', async (t) => {
  const { call } = await setUp(t, { admin: { prefixes: ['SVC', 'BT'] } })
  const used = { key: null, body: { name: 'a' } }

  t.test(
    'every configured prefix works, in any letter case; the response uses that of the request',
    async (t) => {
      for (const [name, trace] of [
        ['SVC-API-KEY', 'svc-trace-id'],
        ['BT-API-KEY', 'bt-trace-id'],
        ['bt-api-key', 'bt-trace-id'],
      ] as const) {
        const response = await call('POST', '/secrets', { ...used, headers: { [name]: 'key_1' } })
        t.equal(response.status, 200, name)
        t.ok(response.headers[trace])
      }
      t.equal((await call('POST', '/secrets', { ...used, headers: { 'XX-API-KEY': 'key_1' } })).status, 401)
      t.ok((await call('GET', '/things')).headers['svc-trace-id'], 'the canonical one when none was used')
      t.ok((await call('GET', '/nothing', { headers: { 'bt-api-key': 'k' } })).headers['bt-trace-id'])
    },
  )

  t.test('a trace id is echoed on every response, errors included', async (t) => {
    const headers = { 'bt-trace-id': 'order 66/~' }
    for (const [method, path] of [
      ['GET', '/things'],
      ['GET', '/nothing'],
      ['PUT', '/things'],
      ['POST', '/secrets'],
      ['GET', '/things/%zz'],
      ['GET', '/fail/x'],
      ['GET', '/healthz'],
    ] as const)
      t.equal((await call(method, path, { headers })).headers['bt-trace-id'], 'order 66/~', path)
  })

  t.test(
    'a trace id that is too long or not printable is replaced, an absent one is generated',
    async (t) => {
      const echoed = async (id: string) =>
        (await call('GET', '/things', { headers: { 'svc-trace-id': id } })).headers['svc-trace-id']
      t.equal(await echoed('x'.repeat(200)), 'x'.repeat(200))
      for (const id of ['x'.repeat(201), 'tab\there', 'é', ''])
        t.match(await echoed(id), /^[0-9a-f]{32}$/, JSON.stringify(id))
      const [first, second] = [await call('GET', '/things'), await call('GET', '/things')]
      t.not(first.headers['svc-trace-id'], second.headers['svc-trace-id'])
      t.match(first.headers['svc-trace-id'], /^[0-9a-f]{32}$/)
      const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
      for (const [traceparent, expected] of [
        [`00-${traceId}-00f067aa0ba902b7-01`, traceId],
        ['00-4242424242424242-00f067aa0ba902b7-01', /^(?!4242)[0-9a-f]{32}$/],
      ] as const)
        t.match(
          (await call('GET', '/things', { headers: { traceparent } })).headers['svc-trace-id'],
          expected,
        )
    },
  )
})

t.test('each request has one line in the access log, without its contents', async (t) => {
  const lines: Record<string, unknown>[] = []
  const write = (entry: Record<string, unknown>, message: string) => lines.push({ ...entry, message })
  const log = { info: write, warn: write, error: write, debug: () => {}, child: () => log } as unknown as Log
  const { call, metrics } = await setUp(t, { log })
  await call('POST', '/secrets?q=marked-query', {
    key: 'marked-key',
    body: { name: 'marked-body' },
    headers: { 'svc-trace-id': 'trace-7', 'x-other': 'marked-header' },
  })
  await call('GET', '/nothing/marked-path')
  await call('GET', '/things/%zz-marked')
  await call('GET', '/healthz')
  t.match(lines, [
    {
      operation: 'Secret.Create',
      status: 200,
      ms: Number,
      trace_id: 'trace-7',
      tenant_id: 'tenant-1',
      actor_id: 'app-1',
    },
    { operation: 'unmatched', status: 404, code: 'not_found' },
    { operation: 'unmatched', status: 400, code: 'malformed' },
  ])
  t.equal(lines.length, 3, 'probes are not worth a line')
  t.notMatch(JSON.stringify(lines), /marked/)
  const counted = await metrics.registry.getSingleMetricAsString('sidevault_requests_total')
  t.match(counted, /operation="Secret\.Create",status="200"\} 1/)
  t.match(counted, /operation="unmatched",status="404"\} 1/)
  t.notMatch(counted, /marked/)
})
