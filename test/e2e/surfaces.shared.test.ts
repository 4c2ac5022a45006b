import { createHmac } from 'node:crypto'
import t, { type Test } from 'tap'
import { type CallOptions, call } from '../kit/egress.ts'
import { startOutside } from '../kit/outside.ts'

/** The whole program, with tokens whose values try to break out of where they are put. */
const { sidevault, destination, url } = await startOutside()

const management = sidevault.managementKey
const key = await sidevault.application({ permissions: ['token:create', 'token:use'] })
const browser = await sidevault.application({ permissions: ['token:create'] }, 'public')
const token = async (data: unknown, by = key): Promise<string> => {
  const response = await sidevault.call('POST', '/tokens', { key: by, body: { type: 'token', data } })
  if (response.status !== 201) throw new Error(response.text)
  return response.json.id
}
const secret = await token('s3cr3t / ü')
const account = await token({ id: 'a/b', name: 'Ada' })

const { last } = destination
t.beforeEach(() => {
  destination.received.length = 0
})
const at = new URL(sidevault.url)
const send = (path: string, options: CallOptions = {}, evaluate?: string) =>
  call(Number(at.port), path, {
    to: url('/base'),
    key,
    ...options,
    headers: { ...(evaluate === undefined ? {} : { 'svc-proxy-evaluate': evaluate }), ...options.headers },
  })
const create = async (members: object): Promise<{ id: string; key: string }> => {
  const body = { name: 'proxy', destination_url: url('/base'), ...members }
  const response = await sidevault.call('POST', '/proxies', { key: management, body })
  if (response.status !== 201) throw new Error(response.text)
  return response.json
}
const logsOf = async (id: string): Promise<{ operation: string; surfaces?: string[] }[]> =>
  (await sidevault.call('GET', `/logs?entity_id=${id}`, { key: management })).json.data
const rejected = async (
  t: Test,
  response: Promise<Awaited<ReturnType<typeof send>>>,
  status: number,
  code: string,
) => {
  const { status: got, json, text } = await response
  t.match({ status: got, code: json?.proxy_error?.code }, { status, code }, text)
  t.same(destination.received, [], 'nothing has left')
  return json.proxy_error
}

t.test(
  'values are inserted in header, path, query and body of one call, with one record per token',
  async (t) => {
    const response = await send(
      `/proxy/users/u-%7B%7B%20${account}%20%7C%20json%3A%20'%24.id'%20%7D%7D/x?key={{${secret}}}&a=1`,
      {
        headers: { authorization: `Bearer {{ ${secret} }} `, 'content-type': 'application/json' },
        body: JSON.stringify({ name: `{{ ${account} | json: '$.name' }}` }),
      },
      'body, header:Authorization, path, query:key',
    )
    t.equal(response.status, 200, response.text)
    t.equal(last().path, '/base/users/u-a%2Fb/x?key=s3cr3t%20%2F%20%C3%BC&a=1')
    t.equal(Buffer.from(String(last().headers.authorization), 'latin1').toString(), 'Bearer s3cr3t / ü')
    t.equal(last().body?.toString(), '{"name":"Ada"}')
    t.notOk('svc-proxy-evaluate' in last().headers)
    const [use, ...more] = (await logsOf(secret)).filter(({ operation }) => operation === 'use')
    t.same(use?.surfaces, ['query:key', 'header:authorization'])
    t.same(more, [])
    t.same((await logsOf(account))[0]?.surfaces, ['body', 'path'])
  },
)

t.test(
  'a request without a body gets values in its head; the log names the surfaces of each use',
  async (t) => {
    const id = await token('value')
    const response = await send(
      `/proxy/{{${id}}}`,
      { method: 'GET', headers: { 'x-api-key': `{{ ${id} }}` } },
      'path,header:x-api-key',
    )
    t.equal(response.status, 200, response.text)
    t.match(last(), { path: '/base/value', headers: { 'x-api-key': 'value' } })
    const text = { headers: { 'content-type': 'text/plain' }, body: `{{ ${id} }}` }
    t.equal((await send('/proxy', text)).status, 200)
    t.equal(last().body?.toString(), 'value')
    t.same(
      (await logsOf(id)).filter(({ operation }) => operation === 'use').map(({ surfaces }) => surfaces),
      [['body'], ['path', 'header:x-api-key']],
    )
    const empty = await token(null)
    t.equal((await send('/proxy', { headers: { 'x-a': `{{ ${empty} }}` } }, 'header:x-a')).status, 200)
    t.equal(last().headers['x-a'] ?? '', '')
  },
)

t.test('HTTP control bytes and path traversal in values from a browser are rejected', async (t) => {
  const breaking = ['a\r\nx-evil: 1', 'a\nb', 'a\rb', 'a\0b', '\x7f', '\x85', 'x\r\n\r\nGET / HTTP/1.1\r\n']
  for (const value of breaking) {
    const id = await token(value, browser)
    await rejected(
      t,
      send('/proxy', { headers: { 'x-a': `{{${id}}}` } }, 'header:x-a'),
      400,
      'invalid_expression',
    )
    await rejected(t, send(`/proxy/a/{{${id}}}`, {}, 'path'), 400, 'invalid_expression')
  }
  for (const value of ['..', '.', '../admin', 'a/../../b', '%2e%2e', '..\\..', '']) {
    const id = await token(value, browser)
    await rejected(t, send(`/proxy/a/{{${id}}}/b`, {}, 'path'), 400, 'invalid_expression')
  }
  const nested = await token(`{{ ${secret} }}`, browser)
  const response = await send(
    `/proxy/{{${nested}}}?q={{${nested}}}`,
    { headers: { 'x-a': `{{${nested}}}` } },
    'path,query:q,header:x-a',
  )
  t.equal(response.status, 200)
  t.notMatch(JSON.stringify(last()), /s3cr3t/, 'a value is not evaluated')
  destination.received.length = 0
  const long = await token('x'.repeat(9_000), browser)
  await rejected(t, send(`/proxy?q={{${long}}}`, {}, 'query:q'), 414, 'uri_too_long')
  const huge = await token('x'.repeat(70_000), browser)
  await rejected(
    t,
    send('/proxy', { headers: { 'x-a': `{{${huge}}}` } }, 'header:x-a'),
    431,
    'headers_too_large',
  )
  const query = await token('a\r\nb\0&c=d#e', browser)
  t.equal((await send(`/proxy?q={{${query}}}`, {}, 'query:q')).status, 200)
  t.equal(last().path, '/base?q=a%0D%0Ab%00%26c%3Dd%23e')
})

t.test('an expression on a surface off the list is rejected with its place; other braces pass', async (t) => {
  const json = { 'content-type': 'application/json' }
  const body = JSON.stringify({ a: `{{ ${secret} }}` })
  for (const [place, path, options, evaluate] of [
    ['header:authorization', '/proxy', { headers: { authorization: `Bearer {{ ${secret} }}` } }, undefined],
    ['header:x-b', '/proxy', { headers: { 'x-b': `{{${secret}|last4}}` } }, 'header:x-a'],
    ['path', `/proxy/%7B%7B${secret}%7D%7D`, { method: 'GET' }, undefined],
    ['query:key', `/proxy?key={{${secret}}}`, { method: 'GET' }, 'query:Key'],
    ['body', '/proxy', { headers: json, body }, 'header:x-a'],
    ['body', '/proxy', { headers: { ...json, 'svc-proxy-evaluate': '' }, body }, undefined],
    ['body', '/proxy', { headers: { ...json, 'svc-proxy-stream': 'true' }, body }, 'path'],
  ] as const) {
    const error = await rejected(t, send(path, options, evaluate), 400, 'expression_on_closed_surface')
    t.same(Object.keys(error.errors), [place])
    t.match(error.detail, place)
  }
  const other = '{{ no-token }} {{#each}} {{ unclosed'
  const passed = await send(`/proxy/{{x}}?a={{y}}`, {
    headers: { 'x-a': other, 'x-b': '{{"json":1}}' },
    body: Buffer.from('{"a":"b"}'),
  })
  t.equal(passed.status, 200, passed.text)
  t.match(last(), { path: '/base/{{x}}?a={{y}}', headers: { 'x-a': other, 'x-b': '{{"json":1}}' } })
  for (const stream of ['false', 'true']) {
    const headers = { 'content-type': 'text/plain', 'svc-proxy-stream': stream }
    t.equal((await send('/proxy', { headers, body: other }, 'path')).status, 200)
    t.equal(last().body?.toString(), other, 'a closed body is not read by its type')
  }
})

t.test('invalid lists, and a list beside a stored proxy, are 400', async (t) => {
  for (const evaluate of ['header:svc-api-key', 'body,,'])
    await rejected(t, send('/proxy', {}, evaluate), 400, 'invalid_surface')
  const proxy = await create({ evaluate: ['header:x-a'] })
  await rejected(
    t,
    send('/proxy', { headers: { 'svc-proxy-key': proxy.key } }, 'header:x-a'),
    400,
    'malformed',
  )
  await rejected(
    t,
    send('/proxy', { headers: { 'x-a': `{{ ${secret} | raw }}` } }, 'header:x-a'),
    400,
    'invalid_expression',
  )
  const unknown = await rejected(
    t,
    send('/proxy', { headers: { 'x-a': '{{ unknown }}' } }, 'header:x-a'),
    400,
    'invalid_expression',
  )
  t.same(Object.keys(unknown.errors), ['header:x-a'])
})

t.test('a stored proxy signs the transformed body; a transform sees no header value', async (t) => {
  const { key: proxyKey } = await create({
    evaluate: ['body', 'header:x-signature', 'header:authorization', 'header:x-changed'],
    configuration: { secret: 'signing key' },
    request_transform: {
      code: `module.exports = async ({ args }) => ({
        body: { seen: args.headers.authorization, of: args.body.a },
        headers: { ...args.headers, 'x-changed': '{{ ${secret} }}' },
      })`,
    },
  })
  const response = await send('/proxy', {
    headers: {
      'svc-proxy-key': proxyKey,
      'content-type': 'application/json',
      authorization: `{{ ${account} | json: '$.name' }}`,
      'x-changed': `{{ ${account} | json: '$.name' }}`,
      'x-signature': "{{ request.body | hmac: 'sha-256', configuration.secret | to_base16 }}",
    },
    body: JSON.stringify({ a: `{{ ${account} | json: '$.name' }}` }),
  })
  t.equal(response.status, 200, response.text)
  const body = last().body as Buffer
  t.same(JSON.parse(body.toString()), { seen: `{{ ${account} | json: '$.name' }}`, of: 'Ada' })
  t.equal(
    last().headers['x-signature'],
    createHmac('sha256', 'signing key').update(body).digest('hex').toUpperCase(),
  )
  t.match(last().headers, { authorization: 'Ada', 'x-changed': `{{ ${secret} }}` })
})

t.test('the URL of a stored proxy may hold an expression', async (t) => {
  const { key: proxyKey } = await create({
    destination_url: url(`/bot{{${account}|json:'$.name'}}`),
    evaluate: ['path'],
  })
  t.equal((await send('/proxy/send', { headers: { 'svc-proxy-key': proxyKey } })).status, 200)
  t.equal(last().path, '/botAda/send')
})

t.test('a streamed body has its headers and URL evaluated first, and no header may read it', async (t) => {
  const stream = { 'svc-proxy-stream': 'true', 'content-type': 'text/plain' }
  const response = await send(
    `/proxy/{{${account}|json:'$.id'}}`,
    {
      headers: { ...stream, 'x-a': `{{ ${account} | json: '$.name' }}` },
      body: `{{ ${account} | json: '$.name' }}!`,
    },
    'body,path,header:x-a',
  )
  t.equal(response.status, 200, response.text)
  t.match(last(), { path: '/base/a%2Fb', headers: { 'x-a': 'Ada' } })
  t.equal(last().body?.toString(), 'Ada!')
  destination.received.length = 0
  const signed = { ...stream, 'x-a': "{{ request.body | hmac: 'sha-256', 'k' }}" }
  await rejected(t, send('/proxy', { headers: signed, body: 'x' }, 'header:x-a'), 400, 'invalid_expression')
  const closed = { ...stream, 'x-a': `{{ ${secret} }}` }
  await rejected(t, send('/proxy', { headers: closed, body: 'x' }), 400, 'expression_on_closed_surface')
})

t.test('a dry run reports tokens of all surfaces, and rejects as the call would', async (t) => {
  const headers = { 'svc-proxy-dry-run': 'true', authorization: `{{ ${secret} }}` }
  const path = `/proxy/{{${account}|json:'$.id'}}?key={{${secret}}}`
  const { status, json, text } = await send(path, { headers }, 'header:authorization,path,query:key')
  t.equal(status, 200, text)
  t.notMatch(text, /s3cr3t|a%2Fb/)
  t.same(json.expressions, [`{{${account}|json:'$.id'}}`, `{{${secret}}}`, `{{ ${secret} }}`])
  t.match(json.tokens, [
    { id: account, surfaces: ['path'] },
    { id: secret, surfaces: ['query:key', 'header:authorization'] },
  ])
  t.equal(json.forwards, true)
  await rejected(t, send(path, { headers }, 'path'), 400, 'expression_on_closed_surface')
  await rejected(
    t,
    send(path, { headers: { ...headers, authorization: '{{' } }, 'header:authorization'),
    400,
    'invalid_expression',
  )
})

t.test("a caller without a key needs the proxy's application for an expression on any surface", async (t) => {
  const open = await create({ require_auth: false, evaluate: ['header:x-a'] })
  const headers = { 'svc-proxy-key': open.key, 'x-a': `{{ ${secret} }}` }
  await rejected(t, send('/proxy', { key: null, headers }), 403, 'forbidden')
})
