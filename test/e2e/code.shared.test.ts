import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startOutside } from '../kit/outside.ts'

/** The whole program: stored proxies made by the API, their code in the real sandbox, a real Envoy before it. */
const { sidevault, destination, url } = await startOutside()

const management = sidevault.managementKey
const { json: applicationMade } = await sidevault.call('POST', '/applications', {
  key: management,
  body: {
    name: 'code',
    type: 'private',
    permissions: ['token:create', 'token:read', 'token:use', 'token:search', 'token:update', 'token:delete'],
  },
})
const key: string = applicationMade.key
const create = async (members: object) => {
  const body = { name: 'proxy', destination_url: url(), ...members }
  const response = await sidevault.call('POST', '/proxies', { key: management, body })
  if (response.status !== 201) throw new Error(response.text)
  return response.json as { id: string; key: string; warnings?: unknown[] }
}
const send = (
  proxy: { key: string },
  body: unknown,
  options: { key?: string; headers?: Record<string, string> } = {},
) =>
  sidevault.call('POST', '/proxy/x', {
    key,
    body,
    ...options,
    headers: { 'svc-proxy-key': proxy.key, ...options.headers },
  })
const code = (text: string) => ({
  code: `module.exports = async (req) => { const { args, configuration, bt } = req; ${text} }`,
})
const logsOf = async (id: string) =>
  (await sidevault.call('GET', `/logs?entity_id=${id}`, { key: management })).json.data as {
    operation: string
    message: string
    actor_id?: string
  }[]

t.test('/readyz names the sandbox, and what is missing around it', async (t) => {
  const { json } = await sidevault.call('GET', '/readyz')
  const parts: { name: string; status: string }[] = json.components
  for (const part of ['sandbox', 'gateway-0-sandbox'])
    t.match(
      parts.find(({ name }) => name === part),
      { status: /^(ok|degraded)$/ },
      part,
    )
})

t.test('a request transform gets the card, and signs what goes out', async (t) => {
  const token = await sidevault.call('POST', '/tokens', {
    key,
    body: { type: 'card', data: { number: '5555555555554444', expiration_month: 1, expiration_year: 2031 } },
  })
  const proxy = await create({
    configuration: { secret: 's3' },
    request_transform: {
      code: `const { createHmac } = require('crypto')
        module.exports = async ({ args: { body, headers }, configuration }) => ({
          body: { pan: body.card.number },
          headers: { ...headers, 'x-signature': createHmac('sha256', configuration.secret).update(body.card.number).digest('hex') },
        })`,
    },
  })
  destination.received.length = 0
  const response = await send(proxy, { card: `{{ ${token.json.id} }}` })
  t.equal(response.status, 200, response.text)
  t.same(JSON.parse(destination.received[0]?.body?.toString() ?? ''), { pan: '5555555555554444' })
  t.match(destination.received[0]?.headers['x-signature'], /^[0-9a-f]{64}$/)
  t.match(await logsOf(proxy.id), [{ operation: 'use', message: 'Proxy used', actor_id: applicationMade.id }])
  t.match((await logsOf(token.json.id))[0], { operation: 'use', actor_id: applicationMade.id })
  const journal = join(sidevault.dataDir, 'audit', 'gateway-0.000001.jsonl')
  const lines = readFileSync(journal, 'utf8').trimEnd().split('\n')
  // In one line, or in two where the first call had to wait for the token's key.
  t.match(
    lines
      .flatMap((line) => JSON.parse(line).records)
      .filter(([, id]) => id === proxy.id || id === token.json.id),
    [
      ['proxy', proxy.id, 'use'],
      ['card', token.json.id, 'use'],
    ],
  )
})

t.test('a response transform tokenizes the card: the caller receives a token', async (t) => {
  const proxy = await create({
    destination_url: url('/response'),
    application: { id: applicationMade.id },
    require_auth: false,
    response_transform: code(
      `const token = await bt.tokens.create({ type: 'card', data: { number: args.body.number, expiration_month: 1, expiration_year: 2031 } })
       return { body: { ...args.body, number: token.id }, headers: args.headers }`,
    ),
  })
  const theirs = {
    status: 201,
    headers: { 'content-type': 'application/json' },
    body: '{"number":"5555555555554444","ok":true}',
  }
  const response = await sidevault.call('POST', '/proxy', {
    body: {},
    headers: { 'svc-proxy-key': proxy.key, 'x-response': JSON.stringify(theirs) },
  })
  t.equal(response.status, 201, response.text)
  t.notMatch(response.text, /5555555555554444/)
  t.equal(response.json.ok, true)
  const read = await sidevault.call('GET', `/tokens/${response.json.number}`, { key })
  t.equal(read.json.type, 'card')
  t.match((await logsOf(response.json.number)).at(-1), { operation: 'create', actor_id: applicationMade.id })
})

t.test('a change applies to the next request, and the key of a deleted proxy is unknown', async (t) => {
  const echo = (value: number) => code(`return { body: { value: ${value} }, headers: args.headers }`)
  const proxy = await create({ request_transform: echo(0) })
  for (let value = 1; value <= 10; value++) {
    const body = { name: 'proxy', destination_url: url(), request_transform: echo(value) }
    t.equal((await sidevault.call('PUT', `/proxies/${proxy.id}`, { key: management, body })).status, 200)
    destination.received.length = 0
    await send(proxy, {})
    t.same(destination.received[0]?.body?.toString(), `{"value":${value}}`)
  }
  await sidevault.call('DELETE', `/proxies/${proxy.id}`, { key: management })
  const gone = await send(proxy, {})
  t.equal(gone.status, 404)
  t.equal(gone.json.proxy_error.status, 404)
})

const CODE_ERRORS: readonly (readonly [string, { code: string }, number, RegExp])[] = [
  ['it throws', code("throw new Error('card 4242')"), 400, /request_transform.*card 4242/],
  ['it loops', code('for (;;);'), 400, /request_transform/],
  [
    'it throws a 402',
    code(
      "const { InvalidPaymentMethodError } = require('sidevault'); throw new InvalidPaymentMethodError('declined')",
    ),
    402,
    /declined/,
  ],
  ['it does not parse', { code: 'module.exports = (' }, 422, /request_transform/],
]

for (const [name, request_transform, status, detail] of CODE_ERRORS)
  t.test(
    `when ${name} the response is ${status}, and callers without a key learn nothing of it`,
    async (t) => {
      destination.received.length = 0
      const proxy = await create({ request_transform })
      const response = await send(proxy, {})
      t.equal(response.status, status, response.text)
      t.equal(response.json.proxy_error.status, status)
      t.match(response.json.proxy_error.detail, detail)
      t.notMatch(response.text, /\/work|node:|src\/|isolated/)
      const open = await create({ request_transform, require_auth: false })
      const anonymous = await sidevault.call('POST', '/proxy', {
        body: {},
        headers: { 'svc-proxy-key': open.key },
      })
      t.equal(anonymous.status, status)
      t.notMatch(anonymous.text, /4242|declined/)
      t.same(destination.received, [])
    },
  )

t.test('each call of a service has a context of its own', async (t) => {
  const { json } = await sidevault.call('POST', '/reactors', {
    key: management,
    body: {
      name: 'count',
      code: 'let calls = 0; module.exports = async () => ({ raw: { calls: ++calls } })',
    },
  })
  for (let turn = 0; turn < 3; turn++) {
    const response = await sidevault.call('POST', `/reactors/${json.id}/react`, { key, body: { args: {} } })
    t.equal(response.json.raw?.calls, 1)
  }
})

t.test('console output of code is not in the log', async (t) => {
  const proxy = await create({ request_transform: code("console.log('SAID 1'); throw new Error('SAID 2')") })
  t.match((await send(proxy, {})).text, /SAID 2/)
  t.notMatch(sidevault.stdout() + sidevault.stderr(), /SAID|5555555555554444/)
})
