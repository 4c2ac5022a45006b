import t from 'tap'
import { startOutside } from '../kit/outside.ts'

/** The whole program, and one server under several names: where the values of tokens arrive (completions §14). */
const { sidevault, destination, url } = await startOutside()

const NUMBER = '4242424242424242'
const { port } = destination
const management = sidevault.managementKey
const post = async (path: string, body: object, key = management) => {
  const response = await sidevault.call('POST', path, { key, body })
  if (response.status >= 300) throw new Error(response.text)
  return response.json
}
const ALL = ['token:create', 'token:read', 'token:use', 'token:update']
const application = (members: object = {}) =>
  post('/applications', { name: 'a', type: 'private', permissions: ALL, ...members })
const { id: applicationId, key } = await application()
const card = async (members: object = {}): Promise<string> => {
  const data = { number: NUMBER, expiration_month: 1, expiration_year: 2031, cvc: '987' }
  return (await post('/tokens', { type: 'card', data, ...members }, key)).id
}
const BOUND = { host: 'dest.test', ports: [port], methods: ['POST'], path: '/only/**' }
const bound = await card({ destinations: [BOUND] })
const secret = await card({ egress_only: true })
const numberOf = (id: string) => ({ pan: `{{ ${id} | json: '$.number' }}` })

const send = (
  to: string,
  id: string,
  { headers = {}, method = 'POST', ...more }: { headers?: object; method?: string; key?: string } = {},
) =>
  sidevault.call(method, '/proxy', {
    key,
    body: numberOf(id),
    ...more,
    headers: { 'svc-proxy-url': Buffer.from(to).toString('latin1'), ...headers },
  })
/** Requests that arrived with a card number since the last call, as `<host><path>`. */
const arrived = () =>
  destination.received
    .splice(0)
    .filter(({ body }) => body?.includes(NUMBER))
    .map(({ headers, path }) => `${headers.host ?? headers[':authority']}${path}`)

t.test('a bound token reaches its destination, and no other', async (t) => {
  arrived()
  t.equal((await send(url('/only/pay?a=b'), bound)).status, 200)
  t.same(arrived(), [`dest.test:${port}/only/pay?a=b`])
  for (const [to, options] of [
    [`https://other.test:${port}/only/pay`, {}],
    [`https://api.dest.test:${port}/only/pay`, {}],
    ['https://dest.test/only/pay', {}],
    [url('/elsewhere'), {}],
    [url('/only//pay'), {}],
    [url('/only/a%2Fb'), {}],
    [url('/only/pay'), { method: 'PUT' }],
    [`https://other.test:${port}/only`, { headers: { 'svc-proxy-stream': 'true' } }],
  ] as const) {
    const { status, json } = await send(to, bound, options)
    t.equal(status, 403, to)
    t.equal(json.proxy_error.code, 'destination_not_allowed')
    if (!('headers' in options)) t.same(json.proxy_error.errors, { '/pan': ['token not allowed'] })
    t.ok(json.proxy_error.detail.includes(bound) && json.proxy_error.detail.includes(new URL(to).hostname))
  }
  const free = await card()
  const two = { a: `{{ ${free} }}`, b: `{{ ${bound} }}` }
  const headers = { 'svc-proxy-url': `https://other.test:${port}` }
  t.equal((await sidevault.call('POST', '/proxy', { key, body: two, headers })).status, 403)
  t.same(destination.received, [], '"One token that fails, fails the call"')
  const streamed = { headers: { 'svc-proxy-stream': 'true' } }
  t.equal((await send(url('/only/pay'), bound, streamed)).status, 200)
  t.same(arrived(), [`dest.test:${port}/only/pay`])
  const { data } = (await sidevault.call('GET', `/logs?entity_id=${bound}`, { key: management })).json
  t.ok(data.some(({ message }: { message: string }) => message === 'Card use denied'))
})

t.test('no expression reveals a value that its caller may only send', async (t) => {
  arrived()
  const limited = await application({
    permissions: [],
    rules: [
      {
        description: 'one provider',
        priority: 1,
        container: '/',
        transform: 'reveal',
        permissions: ['token:use'],
        destinations: [BOUND],
      },
    ],
  })
  const free = await card()
  const ask = (guess: string) =>
    sidevault.call('POST', '/proxy', {
      key: limited.key,
      headers: { 'svc-proxy-url': url('/only/pay') },
      body: {
        right: `{{ ${free} | json: '$.number' | slice: 0 | remove: '${guess}' | size | append: '' | replace: '0', 'x' | to_number }}`,
        always: "{{ 'y' | to_number }}",
      },
    })
  const [right, wrong] = [await ask('4'), await ask('5')]
  t.equal(right.status, 400)
  t.match(right.json.proxy_error, {
    code: 'invalid_expression',
    errors: { '/right': [String] },
  })
  t.same(
    { ...right.json.proxy_error, trace_id: '' },
    { ...wrong.json.proxy_error, trace_id: '' },
    'a guess changes nothing',
  )
  const send = (body: unknown, more: object, to = url('/only/pay')) =>
    sidevault.call('POST', '/proxy', { key: limited.key, body, headers: { 'svc-proxy-url': to, ...more } })
  const part = `--4\r\ncontent-disposition: form-data; name="a"\r\n\r\n--{{ ${free} | json: '$.number' }}\r\n--4--\r\n`
  const evaluated = { 'svc-proxy-evaluate': 'body,path,header:x-a' }
  for (const response of [
    await send(part, { 'content-type': 'multipart/form-data; boundary=4' }),
    await send(numberOf(free), { ...evaluated, 'x-a': "{{ request.body | base64_decode | remove: '4' }}" }),
    await send(
      {},
      evaluated,
      url(`/only/${encodeURIComponent(`{{ ${free} | json: '$.number' | to_base64 }}`)}`),
    ),
  ])
    t.match(response.json.proxy_error, { code: 'invalid_expression', status: 400 })
  t.same(arrived(), [])
})

t.test('a sender without a key learns nothing about the values that it sends', async (t) => {
  arrived()
  const free = await card()
  const { key: proxyKey } = await post('/proxies', {
    name: 'anonymous',
    destination_url: url(''),
    require_auth: false,
    application: { id: applicationId },
  })
  const ask = (expression: string) =>
    sidevault.call('POST', '/proxy', {
      headers: { 'svc-proxy-key': proxyKey },
      body: { pan: `{{ ${free} | json: '$.number' ${expression} }}` },
    })
  t.match((await ask("| remove: '4' | to_number")).json.proxy_error, { code: 'invalid_expression' })
  t.same(arrived(), [])
  t.equal((await ask('')).status, 200)
  t.equal(arrived().length, 1)
})

t.test('a path is checked after its values are inserted', async (t) => {
  const limited = await card({ destinations: [{ host: 'dest.test', ports: [port], path: '/only/*/pay' }] })
  const toPath = async (value: string, stream = 'false') => {
    const { id } = await post('/tokens', { type: 'token', data: value }, key)
    const headers = { 'svc-proxy-evaluate': 'body, path', 'svc-proxy-stream': stream }
    return send(url(`/only/{{${id}}}/pay`), limited, { headers })
  }
  arrived()
  t.equal((await toPath('a b')).status, 200)
  t.same(arrived(), [`dest.test:${port}/only/a%20b/pay`])
  for (const value of ['a/b', 'a\\b', '/'])
    t.match(await toPath(value), {
      status: 403,
      json: { proxy_error: { code: 'destination_not_allowed', errors: { '/pan': [String] } } },
    })
  t.match(await toPath('a/b', 'true'), {
    status: 403,
    json: { proxy_error: { code: 'destination_not_allowed' } },
  })
  t.same(destination.received, [])
  t.equal((await toPath('c d', 'true')).status, 200)
  t.same(arrived(), [`dest.test:${port}/only/c%20d/pay`])
})

t.test('destination lists of the rule and of the application apply as well', async (t) => {
  const free = await card()
  const destinations = [{ host: 'dest.test', ports: [port] }]
  const use = {
    description: 'u',
    priority: 1,
    container: '/',
    transform: 'reveal',
    permissions: ['token:use'],
  }
  const limited = [
    (await application({ destinations })).key,
    (await application({ permissions: [], rules: [{ ...use, destinations }] })).key,
  ]
  arrived()
  for (const key of limited) {
    t.equal((await send(url('/x'), free, { key })).status, 200)
    t.same(arrived(), [`dest.test:${port}/x`])
    t.match((await send(`https://other.test:${port}/x`, free, { key })).json.proxy_error, {
      code: 'destination_not_allowed',
    })
  }
  // Without a key the proxy acts as its application.
  const proxy = await post('/proxies', {
    name: 'p',
    destination_url: `https://other.test:${port}/x`,
    require_auth: false,
    application: { id: (await application({ destinations })).id },
  })
  const anonymous = await sidevault.call('POST', '/proxy', {
    body: numberOf(free),
    headers: { 'svc-proxy-key': proxy.key },
  })
  t.equal(anonymous.json.proxy_error.code, 'destination_not_allowed')
  t.same(arrived(), [])
})

t.test("code with a bound token reaches only the token's destinations", async (t) => {
  const elsewhere = `https://other.test:${port}/stolen`
  const { key: stored } = await post('/proxies', {
    name: 'p',
    destination_url: url('/only'),
    application: { id: applicationId },
    request_transform: {
      code: `module.exports = async ({ args, bt }) => {
        const { id, to } = args.headers['x-plan'] ? JSON.parse(args.headers['x-plan']) : {}
        const data = id ? (await bt.tokens.retrieve(id)).data : args.body
        const outcome = await fetch(to, { method: 'POST', body: JSON.stringify(data) }).then((r) => r.status, (e) => e.message)
        return { headers: {}, body: { outcome } }
      }`,
    },
  })
  const free = await card()
  const run = async (plan: object, body: object = {}) =>
    (
      await sidevault.call('POST', '/proxy', {
        key,
        body,
        headers: { 'svc-proxy-key': stored, 'x-plan': JSON.stringify(plan) },
      })
    ).json
  arrived()
  const sent = async (plan: object, body?: object) =>
    JSON.parse(Buffer.from((await run(plan, body)).body, 'base64').toString()).outcome
  t.equal(await sent({ to: elsewhere }, numberOf(free)), 200)
  t.same(arrived(), [`other.test:${port}/stolen`])
  t.match(await sent({ to: elsewhere }, numberOf(bound)), /destinations/)
  t.match(await sent({ to: url('/elsewhere') }, numberOf(bound)), /destinations/)
  t.same(arrived(), [])
  t.equal(await sent({ to: url('/only/too') }, numberOf(bound)), 200)
  t.same(arrived(), [`dest.test:${port}/only/too`])

  // By bt: the application reads masked cards, which a bound token's are, too.
  t.match(await sent({ id: bound, to: elsewhere }), /destinations/)
  const far = await card({ destinations: [{ host: 'api.dest.test', ports: [port] }] })
  t.match((await run({ id: far, to: url('/only/too') })).proxy_error, { status: 403 })
  t.match((await run({ to: elsewhere }, numberOf(secret))).proxy_error, { code: 'egress_only' })
  t.same(arrived(), [])
})

t.test('the surface of a value is checked: headers, and headers that read the body', async (t) => {
  const entry = { host: 'dest.test', ports: [port] }
  const inHeader = await card({ destinations: [{ ...entry, surfaces: ['header:authorization'] }] })
  const inBody = await card({ destinations: [{ ...entry, surfaces: ['body'] }] })
  const call = (headers: Record<string, string>, body: object) =>
    sidevault.call('POST', '/proxy/x', { key, body, headers: { 'svc-proxy-url': url(), ...headers } })
  const value = (id: string) => `{{ ${id} | json: '$.number' }}`
  const evaluate = { 'svc-proxy-evaluate': 'body, header:authorization, header:x-copy' }
  destination.received.length = 0
  t.equal((await call({ ...evaluate, authorization: `Bearer ${value(inHeader)}` }, {})).status, 200)
  t.equal(destination.last().headers.authorization, `Bearer ${NUMBER}`)
  t.equal((await call(evaluate, numberOf(inBody))).status, 200)
  destination.received.length = 0
  const wrong: readonly (readonly [Record<string, string>, object])[] = [
    [{ 'x-copy': value(inHeader) }, {}],
    [{}, numberOf(inHeader)],
    [{ authorization: value(inHeader) }, numberOf(inHeader)],
    [{ 'x-copy': '{{ request.body | to_base64 }}' }, numberOf(inBody)],
  ]
  for (const [headers, body] of wrong) {
    const { json } = await call({ ...evaluate, ...headers }, body)
    t.equal(json.proxy_error?.code, 'destination_not_allowed', JSON.stringify([headers, body]))
  }
  const patterned = await card({ destinations: [{ ...entry, path: '/users/*/x' }] })
  const inPath = (path: string) =>
    sidevault.call('POST', path, {
      key,
      body: {},
      headers: { 'svc-proxy-url': url(), 'svc-proxy-evaluate': 'path' },
    })
  const segment = encodeURIComponent(value(patterned))
  t.equal((await inPath(`/proxy/users/${segment}`)).json.proxy_error?.code, 'destination_not_allowed')
  t.same(destination.received, [])
  t.equal((await inPath(`/proxy/users/u-${segment}/x`)).status, 200)
  t.equal(destination.last().path, `/users/u-${NUMBER}/x`)
})

t.test('reactors have no destination; an egress-only value is masked there', async (t) => {
  const reactor = await post('/reactors', {
    name: 'r',
    code: 'module.exports = async ({ args }) => ({ raw: args })',
  })
  const react = async (id: string) =>
    (await sidevault.call('POST', `/reactors/${reactor.id}/react`, { key, body: { args: numberOf(id) } }))
      .json
  t.match(await react(bound), {
    code: 'destination_not_allowed',
    errors: { '/args/pan': [String] },
  })
  t.same((await react(secret)).raw, { pan: 'XXXXXXXXXXXX4242' })
  arrived()
  t.equal((await send(url('/x'), secret)).status, 200)
  t.same(arrived(), [`dest.test:${port}/x`], 'and a proxy without a transform sends it')
})

t.test('a dry run reports where each token may be sent', async (t) => {
  const headers = { 'svc-proxy-dry-run': 'true' }
  const other = await send(`https://other.test:${port}/x`, bound, { headers })
  t.match(other.json, {
    forwards: false,
    proxy_error: { code: 'destination_not_allowed' },
    tokens: [{ id: bound, use: 'allowed', destination: { host: 'other.test', allowed: false, by: 'token' } }],
  })
  const own = await send(url('/only'), bound, { headers })
  t.match(own.json, {
    forwards: true,
    tokens: [{ destination: { host: 'dest.test', allowed: true, by: null } }],
  })
  const { key: transformed } = await post('/proxies', {
    name: 'p',
    destination_url: url('/x'),
    request_transform: { code: 'module.exports = async ({ args }) => args' },
  })
  const body = numberOf(secret)
  const run = await sidevault.call('POST', '/proxy', {
    key,
    body,
    headers: { ...headers, 'svc-proxy-key': transformed },
  })
  t.match(run.json, { forwards: false, proxy_error: { code: 'egress_only' } })
})

/** Each host in many spellings, some of which are the host of the bound token. */
const spellings = (): readonly string[] => {
  const wide = (text: string) =>
    text.replace(/[a-z]/g, (c) => String.fromCodePoint(0xff21 + c.charCodeAt(0) - 97))
  const encoded = (text: string) => text.replace(/[a-z]/, (c) => `%${c.charCodeAt(0).toString(16)}`)
  const ways: readonly ((host: string) => string)[] = [
    (host) => host,
    (host) => host.toUpperCase(),
    (host) => `${host}.`,
    (host) => `${host}..`,
    wide,
    encoded,
    (host) => host.replaceAll('.', '\u3002'),
    (host) => host.replaceAll('.', '\uff0e'),
    (host) => host.replace('t', '\u00adt'),
    (host) => host.replace('t', '\u200bt'),
    (host) => host.replace('s', '\u017f'),
    (host) => host.replace('e', '\u0435'),
    (host) => `dest.test@${host}`,
    (host) => `${host}@dest.test`,
    (host) => `dest.test%40${host}`,
    (host) => `${host}\\@dest.test`,
    (host) => `${host}#@dest.test`,
    (host) => `${host}?.dest.test`,
    (host) => `dest.test.${host}`,
    (host) => `${host}.dest.test`,
    (host) => `${host}%00.dest.test`,
    (host) => `${host}\t`,
    (host) => ` ${host}`,
    (host) => `[${host}]`,
    (host) => `xn--${host}`,
  ]
  const hosts = [
    'dest.test',
    'other.test',
    'api.dest.test',
    'v2.api.dest.test',
    '127.0.0.1',
    '2130706433',
    '[::1]',
  ]
  const ends = [`:${port}/only/x`, `:0${port}/only/../only/x`, '/only/x']
  return hosts.flatMap((host) => ways.flatMap((way) => ends.map((end) => `https://${way(host)}${end}`)))
}

t.test('500 spellings of hosts: no byte of the value at another destination', async (t) => {
  const all = spellings()
  t.ok(all.length >= 500, `${all.length}`)
  arrived()
  const statuses: number[] = []
  for (let at = 0; at < all.length; at += 25)
    statuses.push(
      ...(await Promise.all(all.slice(at, at + 25).map(async (to) => (await send(to, bound)).status))),
    )
  t.same([...new Set(statuses)].sort(), [200, 400, 403])
  const places = new Set(arrived())
  t.same([...places], [`dest.test:${port}/only/x`])
})
