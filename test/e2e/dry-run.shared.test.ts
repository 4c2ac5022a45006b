import { gzipSync } from 'node:zlib'
import t from 'tap'
import { startOutside } from '../kit/outside.ts'

/** The whole program, and a destination that must never hear of a dry run. */
const { sidevault, destination, url } = await startOutside()

const NUMBER = '4242424242424242'
const MASKED = 'XXXXXXXXXXXX4242'
const management = sidevault.managementKey
const application = async (members: object): Promise<{ id: string; key: string }> => {
  const body = { name: 'dry run', type: 'private', ...members }
  return (await sidevault.call('POST', '/applications', { key: management, body })).json
}
const rule = (container: string, transform: string) => ({
  description: `${transform} ${container}`,
  priority: 1,
  container,
  transform,
  permissions: ['token:use'],
})
const { key } = await application({ permissions: ['token:create', 'token:use'] })
const token = async (body: object): Promise<string> =>
  (await sidevault.call('POST', '/tokens', { key, body })).json.id
const card = await token({
  type: 'card',
  data: { number: NUMBER, expiration_month: 1, expiration_year: 2031 },
})
const secret = await token({ type: 'token', data: 'the secret' })

const create = async (members: object): Promise<{ id: string; key: string }> => {
  const body = { name: 'proxy', destination_url: url('/base?apikey=of-the-proxy'), ...members }
  const response = await sidevault.call('POST', '/proxies', { key: management, body })
  if (response.status !== 201) throw new Error(response.text)
  return response.json
}
const code = (text: string) => ({
  code: `module.exports = async (req) => { const { args, configuration, bt } = req; ${text} }`,
})

/** Makes a dry run, which may send nothing, and return no part of a value. */
const dryRun = async (
  options: {
    key?: string
    body?: unknown
    headers?: Record<string, string>
    path?: string
    method?: string
  } = {},
) => {
  const { path = '/proxy/pay', method = 'POST', headers, ...rest } = options
  const response = await sidevault.call(method, path, {
    key,
    ...rest,
    headers: { 'svc-proxy-dry-run': 'true', ...headers },
  })
  t.equal(destination.received.length, 0, 'nothing arrived')
  t.notMatch(response.text, new RegExp(`${NUMBER}|the secret|of-the-proxy`), 'no value came back')
  return response
}
const logsOf = async (id: string): Promise<{ operation: string; message: string }[]> =>
  (await sidevault.call('GET', `/logs?entity_id=${id}`, { key: management })).json.data

t.test('the plan of a call has its destination, its tokens with their grants, and the body', async (t) => {
  const headers = { 'svc-proxy-url': url('/base') }
  const body = { card: `{{ ${card} | json: '$.number' }}`, text: `a {{ ${secret} }} b`, amount: 1 }
  const {
    status,
    json,
    headers: sent,
  } = await dryRun({ headers, body, path: '/proxy/pay?x=query-value&y=2' })
  t.equal(status, 200)
  t.match(sent.get('content-type'), /json/)
  t.ok(sent.get('svc-trace-id'))
  t.notOk(sent.get('svc-proxy-destination-status'))
  t.match(json, {
    dry_run: true,
    forwards: true,
    destination: { method: 'POST', url: url('/base/pay'), query: ['x', 'y'] },
    acting: { as: 'caller' },
    expressions: [`{{ ${card} | json: '$.number' }}`, `{{ ${secret} }}`],
    body: { before: { card: MASKED, text: 'a  b', amount: 1 }, after: { card: MASKED, amount: 1 } },
  })
  const decided = {
    use: 'allowed',
    disclosure: 'reveal',
    surfaces: ['body'],
    destination: { host: 'dest.test', allowed: true, by: null },
    decided_by: { permission: 'token:use' },
  }
  t.same(json.tokens, [
    { id: card, type: 'card', container: '/pci/high/', ...decided },
    { id: secret, type: 'token', container: '/general/high/', ...decided },
  ])
  t.ok(json.stages.authenticate >= 0 && json.stages.use >= 0)
  t.notMatch(JSON.stringify(json), /query-value/)
})

t.test('the deciding rule is named; a token that is not granted stops the call', async (t) => {
  const { key } = await application({ permissions: [], rules: [rule('/pci/', 'mask')] })
  const headers = { 'svc-proxy-url': url() }
  const masked = await dryRun({ key, headers, body: { card: `{{ ${card} }}` } })
  t.match(masked.json.tokens, [
    {
      disclosure: 'mask',
      decided_by: { rule: { description: 'mask /pci/', priority: 1, container: '/pci/' } },
    },
  ])
  const denied = await dryRun({ key, headers, body: { a: `{{ ${secret} }}`, b: '{{ unknown-token }}' } })
  t.equal(denied.status, 200)
  t.match(denied.json, { forwards: false, proxy_error: { status: 403 } })
  t.same(denied.json.tokens, [
    { id: secret, use: 'denied' },
    { id: 'unknown-token', use: 'unknown' },
  ])
  t.notOk('after' in denied.json.body)
})

t.test('a transform runs on masked values, and the report has its changes, console and time', async (t) => {
  const proxy = await create({
    configuration: { secret: 'of the configuration' },
    request_transform: code(`
      console.log('number', args.body.card, configuration.secret)
      const { 'x-old': old, ...headers } = args.headers
      return { body: { pan: args.body.card, amount: args.body.amount + 1 },
               headers: { ...headers, 'x-new': configuration.secret, 'x-same': 'other' } }`),
    response_transform: code('return args'),
  })
  const headers = { 'svc-proxy-key': proxy.key, 'x-old': '1', 'x-same': '1' }
  const body = { card: `{{ ${card} | json: '$.number' }}`, amount: 1 }
  const { json } = await dryRun({ headers, body, key: management })
  t.match(json, {
    forwards: false,
    tokens: [{ id: card, use: 'unresolved' }],
    request_transform: { ran: false },
  })
  const own = await dryRun({ headers, body })
  t.match(own.json, {
    forwards: true,
    destination: { url: url('/…/pay'), query: [] },
    request_transform: {
      ran: true,
      headers: { added: ['x-new'], removed: ['x-old'], changed: ['x-same'] },
      body: { added: ['/pan'], removed: ['/card'], changed: ['/amount'] },
      console: [{ level: 'log', text: `number ${MASKED} [secret]` }],
    },
    response_transform: { ran: false },
    body: { before: { card: MASKED, amount: 1 }, after: { pan: MASKED, amount: 2 } },
  })
  t.ok(own.json.request_transform.timing.wall > 0)
  t.notMatch(own.text, /of the configuration/, 'a private application may not read it')
  t.match(own.json.notes.join(' '), /masked values.*bt and fetch do nothing.*configuration/s)
})

t.test('unsaved code runs in dry runs, and in no call', async (t) => {
  const saved = 'return { body: { saved: true }, headers: args.headers }'
  const proxy = await create({ configuration: { secret: 'readable' }, request_transform: code(saved) })
  const { code: draft } = code(
    'console.log(configuration.secret); return { body: { pan: args.body.card, text: "ä€" }, headers: args.headers }',
  )
  const drafted = (members: unknown) => ({
    'svc-proxy-key': proxy.key,
    'svc-proxy-dry-run-code': Buffer.from(JSON.stringify(members)).toString('latin1'),
  })
  const body = { card: `{{ ${card} | json: '$.number' }}` }
  const run = await dryRun({ body, headers: drafted({ request_transform: draft }) })
  t.match(run.json, {
    forwards: true,
    request_transform: { ran: true, console: [{ text: '[secret]' }] },
    body: { after: { pan: MASKED, text: 'ä€' } },
  })
  const without = await dryRun({ body, headers: drafted({ request_transform: null }) })
  t.notOk(without.json.request_transform)
  t.same(without.json.body.after, { card: MASKED })
  const response = await dryRun({ body, headers: drafted({ response_transform: draft }) })
  t.match(response.json, { body: { after: { saved: true } }, response_transform: { ran: false } })
  for (const wrong of [
    1,
    [],
    'x',
    { request_transform: 1 },
    { other: draft },
    { toString: draft },
    { ['__proto__']: draft },
  ])
    t.equal((await dryRun({ body, headers: drafted(wrong) })).status, 400, JSON.stringify(wrong))
  const ephemeral = { ...drafted({ request_transform: draft }), 'svc-proxy-url': url() }
  t.equal((await dryRun({ body, headers: { ...ephemeral, 'svc-proxy-key': '' } })).status, 400)

  await sidevault.call('POST', '/proxy', { key, body, headers: drafted({ request_transform: draft }) })
  const received = destination.received.splice(0)
  t.same(
    received.map((one) => one.body?.toString()),
    ['{"saved":true}'],
  )
  t.notMatch(JSON.stringify(received[0]?.headers), /dry-run/i)
})

t.test('a management key gets the plan under the application of the proxy', async (t) => {
  const { id } = await application({ permissions: [], rules: [rule('/pci/', 'reveal')] })
  const proxy = await create({
    application: { id },
    require_auth: false,
    configuration: { secret: 'readable' },
    request_transform: code(
      'return { body: { ...args.body, secret: configuration.secret }, headers: args.headers }',
    ),
  })
  const headers = { 'svc-proxy-key': proxy.key }
  const body = { card: `{{ ${card} | json: '$.number' }}` }
  const { json } = await dryRun({ key: management, headers, body })
  t.match(json, {
    forwards: true,
    acting: { id, as: 'application of the proxy' },
    tokens: [{ id: card, decided_by: { rule: { container: '/pci/' } } }],
    body: { after: { card: MASKED, secret: 'readable' } },
  })
  const { id: updater, key: updaterKey } = await application({
    type: 'management',
    permissions: ['proxy:read', 'proxy:update'],
  })
  const updated = await dryRun({ key: updaterKey, headers, body })
  t.match(
    updated.json,
    { acting: { id: updater, as: 'caller' }, tokens: [{ use: 'unresolved' }] },
    'no administrator',
  )
  const whole = await dryRun({ key: management, headers, body: { card: `{{ token: ${card} }}` } })
  t.match(whole.json.body.before, { card: { id: card, data: { number: MASKED } } })
  t.notOk('fingerprint' in whole.json.body.before.card, 'who sees no data sees no fingerprint')
  const managing = await sidevault.call('GET', '/applications/key', { key: management })
  const { json: logs } = await sidevault.call('GET', `/logs?entity_id=${card}&size=1`, { key: management })
  t.match(logs.data, [{ operation: 'read', actor_id: managing.json.id }], 'the record names who saw the mask')
  const reader = await application({ type: 'management', permissions: ['proxy:read'] })
  const read = await dryRun({ key: reader.key, headers, body })
  t.match(read.json, { forwards: false, acting: { as: 'caller' }, tokens: [{ use: 'unresolved' }] })
  const other = await application({ type: 'management', permissions: ['log:read'] })
  t.equal((await dryRun({ key: other.key, headers, body })).status, 403)
})

t.test('a response transform runs on a response that the caller supplies', async (t) => {
  const proxy = await create({
    configuration: { secret: 'of the configuration' },
    response_transform: code(
      `console.log(Object.keys(args), configuration.secret)
       if (args.body.fail) throw new Error('not this')
       return { body: { ...args.body, number: args.body.number.slice(-4) }, headers: { ...args.headers, 'x-new': '1' } }`,
    ),
  })
  const ask = (response?: object | string) =>
    dryRun({
      headers: {
        'svc-proxy-key': proxy.key,
        ...(response === undefined
          ? {}
          : {
              'bt-proxy-dry-run-response': typeof response === 'string' ? response : JSON.stringify(response),
            }),
      },
      body: {},
    })
  t.match((await ask()).json, {
    response_transform: { ran: false, reason: /has no response.*"svc-proxy-dry-run-response"/ },
    response: undefined,
  })
  const { json, text } = await ask({
    status: 201,
    headers: { 'X-Old': 'o' },
    body: { number: '123456', a: 1 },
  })
  t.match(json, {
    forwards: true,
    response_transform: {
      ran: true,
      headers: { added: ['x-new'], removed: [], changed: [] },
      body: { added: [], removed: [], changed: ['/number'] },
      console: [{ level: 'log', text: "[ 'body', 'headers' ] [secret]" }],
    },
    response: { status: 201, body: { before: { number: '123456', a: 1 }, after: { number: '3456', a: 1 } } },
  })
  t.notMatch(text, /of the configuration/)
  t.match((await ask({ body: { fail: true } })).json, {
    forwards: true,
    response_transform: { ran: true },
    response: { proxy_error: { status: 400, detail: /not this/ } },
  })
  t.match((await ask({ status: 404, body: { number: 1 } })).json, {
    response_transform: { ran: false },
    response: { status: 404, body: { after: { number: 1 } } },
  })
  t.match((await ask({ body: '{' })).json.response.proxy_error, { status: 400 })
  t.match((await ask({ headers: { 'content-type': 'text/plain' }, body: '4111' })).json, {
    response_transform: { ran: false },
    response: { status: 502, body: { before: undefined, after: undefined }, proxy_error: { status: 502 } },
  })
  for (const wrong of ['no JSON', '[]', '{"status":1000}', '{"status":"200"}', '{"headers":5}'])
    t.match((await ask(wrong)).json, { proxy_error: { status: 400, code: 'malformed' } }, wrong)
})

t.test('failing code is reported with its console; bt and fetch do nothing', async (t) => {
  const { id } = await application({ permissions: ['token:create', 'token:read', 'token:use'] })
  const failures: [string, object, RegExp][] = [
    ["console.log('before'); throw new Error('boom')", {}, /boom.*request_transform:1:\d+/],
    [`console.log('before'); await fetch('${url('/token')}')`, {}, /fetch is not available in a dry run/],
    [
      "console.log('before'); await bt.tokens.create({ type: 'token', data: 'made' })",
      { application: { id } },
      /bt\.tokens\.create is not available in a dry run/,
    ],
    ["console.log('before'); return 7", {}, /\{ body, headers \}/],
  ]
  for (const [text, members, detail] of failures) {
    const proxy = await create({ request_transform: code(text), ...members })
    const { status, json } = await dryRun({ headers: { 'svc-proxy-key': proxy.key }, body: { a: 1 } })
    t.equal(status, 200)
    t.match(json, {
      forwards: false,
      proxy_error: { detail },
      request_transform: { ran: true, console: [{ text: 'before' }] },
    })
  }
})

t.test('only private and management keys may request a dry run', async (t) => {
  const open = await create({ require_auth: false })
  const created = await application({ type: 'public', permissions: ['token:create'] })
  const idle = await application({ permissions: ['token:read'] })
  const body = { a: 1 }
  const to = { 'svc-proxy-url': url() }
  const call = (headers: Record<string, string>, key?: string) =>
    sidevault.call('POST', '/proxy', {
      ...(key === undefined ? {} : { key }),
      body,
      headers: { 'svc-proxy-dry-run': 'true', ...headers },
    })
  t.equal((await call({ 'svc-proxy-key': open.key })).status, 403, 'unknown')
  t.equal((await call({ 'svc-proxy-key': open.key }, created.key)).status, 403, 'public')
  t.equal((await call(to, created.key)).status, 403, 'public')
  t.equal((await call(to, idle.key)).status, 403, 'without token:use')
  t.equal((await call(to)).status, 401)
  t.equal((await call({ 'svc-proxy-key': open.key }, 'key_unknown')).status, 401)
  t.equal((await call({ 'svc-proxy-key': open.key }, key)).status, 200)
  t.equal((await call({ ...to, 'svc-proxy-dry-run': 'perhaps' }, key)).status, 400)
  t.match((await call({ 'svc-proxy-key': open.key })).json.proxy_error, { status: 403 })
  t.equal(destination.received.length, 0)
})

t.test('dry runs work with every method, body and header prefix', async (t) => {
  const to = { 'svc-proxy-url': url() }
  for (const method of ['GET', 'DELETE'])
    t.match((await dryRun({ method, headers: to })).json, {
      forwards: true,
      destination: { method },
      tokens: [],
    })
  for (const method of ['PUT', 'PATCH'])
    t.match((await dryRun({ method, headers: to, body: { a: `{{ ${card} }}` } })).json, {
      destination: { method },
      body: { after: { a: { number: MASKED } } },
    })
  const form = await dryRun({
    headers: { ...to, 'content-type': 'application/x-www-form-urlencoded' },
    body: `a=%7B%7B${card}%20|%20json:%20'$.number'}}&b=1`,
  })
  t.match(form.json.body, { before: { a: MASKED, b: '1' } })
  const text = await dryRun({
    headers: { ...to, 'content-type': 'text/xml' },
    body: `<a>{{ ${secret} }}</a>`,
  })
  t.equal(text.json.body.before, '<a></a>')
  const impossible = await dryRun({
    headers: to,
    body: { a: `{{ ${card} | json: '$.number' | to_number }}` },
  })
  t.match(impossible.json, { forwards: true, notes: [String, /cannot be evaluated on masked values/] })
  const prefixed = await sidevault.call('POST', '/proxy', {
    body: { a: 1 },
    headers: { 'bt-api-key': key, 'bt-proxy-url': url(), 'bt-proxy-dry-run': 'TRUE' },
  })
  t.match(prefixed.json, { dry_run: true })
  t.equal((await dryRun({ headers: to, body: '{"a":' })).status, 200, 'without expressions it would be sent')
  t.equal(
    (await dryRun({ headers: { ...to, 'content-type': 'application/json' }, body: `{"a":"{{ ${card} }}"` }))
      .status,
    400,
  )
  t.equal((await dryRun({ headers: { 'svc-proxy-url': 'https://10.0.0.1/' }, body: {} })).status, 403)
})

t.test('a compressed body is shown decoded', async (t) => {
  const response = await fetch(`${sidevault.url}/proxy`, {
    method: 'POST',
    headers: {
      'svc-api-key': key,
      'svc-proxy-url': url(),
      'svc-proxy-dry-run': 'true',
      'content-type': 'application/json',
      'content-encoding': 'gzip',
    },
    body: gzipSync(JSON.stringify({ a: `{{ ${card} | json: '$.number' }}` })),
  })
  t.match(await response.json(), { body: { before: { a: MASKED } } })
  t.equal(destination.received.length, 0)
})

t.test('a dry run has its own record and one read record per masked token, and uses no token', async (t) => {
  const proxy = await create({})
  const own = await token({ type: 'card', data: { number: NUMBER } })
  await dryRun({ headers: { 'svc-proxy-key': proxy.key }, body: { a: `{{ ${own} }}` } })
  t.match(await logsOf(proxy.id), [{ operation: 'read', message: 'Proxy dry run' }, { operation: 'create' }])
  t.same((await logsOf(own)).map(({ operation }) => operation).sort(), ['create', 'read'])
  const unmasked = await token({ type: 'token', data: 'the secret' })
  await dryRun({ headers: { 'svc-proxy-key': proxy.key }, body: { a: `{{ ${unmasked} }}` } })
  t.same(
    (await logsOf(unmasked)).map(({ operation }) => operation),
    ['create'],
    'nothing of it was shown',
  )
})

t.test('without the header, or with false, the call is made and the header is not forwarded', async (t) => {
  const response = await sidevault.call('POST', '/proxy', {
    key,
    body: { a: `{{ ${card} | json: '$.number' }}` },
    headers: { 'svc-proxy-url': url(), 'svc-proxy-dry-run': 'false' },
  })
  t.equal(response.status, 200)
  t.equal(destination.received.length, 1)
  const [received] = destination.received
  t.equal(received?.body?.toString(), JSON.stringify({ a: NUMBER }))
  t.notMatch(JSON.stringify(received?.headers), /dry-run/i)
})
