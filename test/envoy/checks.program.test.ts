import t, { type Test } from 'tap'
import type { Check, CheckedCall, StoredProxy } from '../../src/sdk/index.ts'
import { type CallOptions, call, startWorld } from '../kit/egress.ts'
import { type Mirrored, startMirror } from '../kit/mirror.ts'
import { until } from '../kit/until.ts'
import { upload } from '../kit/upload.ts'

type Handle = (call: CheckedCall, signal: AbortSignal) => Promise<unknown>

const NAMES = ['request-closed', 'request-open', 'response-closed', 'response-open'] as const
type Name = (typeof NAMES)[number]

/** What each check does; those that are not listed let calls pass. */
let acts: Partial<Record<Name, Handle>> = {}
const seen: CheckedCall[] = []

const checks = NAMES.map((name) => {
  const [on, fail] = name.split('-') as ['request' | 'response', 'closed' | 'open']
  const handle = async (checked: CheckedCall, signal: AbortSignal) => {
    seen.push(checked)
    return acts[name]?.(checked, signal)
  }
  return { plugin: 'mine', check: { name, on, fail, timeout_ms: 20, handle } as Check }
})

const world = await startWorld({ deps: { checks } })
const certificate = await world.authority.issue(['dest.test'])
const mirrors = { h1: await startMirror(certificate, 'h1'), h2: await startMirror(certificate, 'h2') }
t.teardown(async () => {
  await mirrors.h1.close()
  await mirrors.h2.close()
  await world.close()
})

const JSON_TYPE = { 'content-type': 'application/json' }
const BODY = `{"card":"{{ card | json: '$.number' }}","name":"{{ name }}"}`
const FINE: Mirrored = { headers: JSON_TYPE, pieces: ['{"fine":', 'true}'] }

const send = (options: CallOptions = {}, response = FINE, protocol: 'h1' | 'h2' = 'h1') => {
  const mirror = mirrors[protocol]
  received = 0
  mirror.respond = () => {
    received++
    return response
  }
  return call(world.port, '/proxy', {
    to: `https://dest.test:${mirror.port}/x`,
    body: BODY,
    ...options,
    headers: { ...JSON_TYPE, ...options.headers },
  })
}
let received = 0

t.beforeEach(() => {
  acts = {}
  seen.length = 0
  world.far.records.length = 0
  world.far.uses.length = 0
})

const messages = () => world.far.records.map(({ message }) => message)

const DENY = { deny: { code: 'outside_hours', detail: 'Calls are allowed from nine to five.' } }
const hang: Handle = (_, signal) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('late'))))
const fail: Handle = async () => {
  throw new Error('broken')
}

for (const name of NAMES) {
  const [on, whenFailed] = name.split('-')
  const isOnRequest = on === 'request'
  /** A call that ends at the check: what the destination and the vault have seen of it. */
  const ends = (t: Test, { headers }: Awaited<ReturnType<typeof send>>) => {
    t.equal(headers['svc-proxy-outcome'], isOnRequest ? 'not_sent' : 'answered')
    t.equal(received, isOnRequest ? 0 : 1)
    t.equal(world.far.uses.length, isOnRequest ? 0 : 1, 'no value is opened before the checks')
  }

  t.test(`${name}: allow, label and deny`, async (t) => {
    const allowed = await send()
    t.match(allowed, { status: 200, json: { fine: true } })
    t.notOk(messages().some((message) => message.startsWith('Label')))

    acts = { [name]: async () => ({ labels: { ticket: 'A-1', region: 'eu' } }) }
    t.equal((await send()).status, 200)
    const labeled = world.far.records.filter(({ operation }) => operation === 'check')
    t.match(labeled, [
      {
        entity_type: 'proxy',
        entity_id: 'private',
        message: `Labeled by the check "${name}"`,
        labels: '{"ticket":"A-1","region":"eu"}',
      },
    ])
    t.equal(labeled.length, 1)

    world.far.uses.length = 0
    acts = { [name]: async () => DENY }
    const denied = await send()
    t.match(denied, {
      status: 403,
      json: {
        proxy_error: {
          code: 'denied_by_plugin',
          detail: 'Calls are allowed from nine to five.',
          errors: { check: ['outside_hours'] },
        },
      },
    })
    ends(t, denied)
    t.ok(messages().includes(`Proxy call denied: check "${name}", outside_hours`))
  })

  for (const [what, act] of Object.entries({ throw: fail, hang, 'a wrong verdict': async () => 'yes' }))
    t.test(`${name}: ${what}`, async (t) => {
      acts = { [name]: act }
      const response = await send()
      if (whenFailed === 'open') return t.match(response, { status: 200, json: { fine: true } })
      t.match(response, { status: 503, json: { proxy_error: { code: 'check_unavailable' } } })
      ends(t, response)
    })
}

t.test('checks run in their order, and the first denial ends the call', async (t) => {
  acts = { 'request-closed': async () => DENY }
  await send()
  t.equal(seen.length, 1)
  acts = {}
  seen.length = 0
  await send()
  t.same(
    seen.map(({ response }) => response === undefined),
    [true, true, false, false],
  )
})

t.test('a check sees metadata, frozen, and no value', async (t) => {
  world.far.proxies.set('proxy', {
    id: 'proxy-id',
    tenantId: 'tenant',
    name: 'Payments',
    requireAuth: true,
    configuration: { secret: 'of-the-proxy' },
    destinationUrl: `https://dest.test:${mirrors.h1.port}/path-of-the-proxy`,
  } satisfies StoredProxy)
  mirrors.h1.respond = () => ({ headers: { ...JSON_TYPE, 'content-length': '2' }, pieces: ['{}'] })
  const response = await call(world.port, '/proxy/pay?query=text', {
    body: BODY.replace('}"}', '}","more":"text of a body"}'),
    headers: {
      'content-type': 'Application/JSON; charset=utf-8',
      'svc-proxy-key': 'proxy',
      'svc-trace-id': 'the-trace',
      'x-header': 'text of a header',
    },
  })
  t.equal(response.status, 200)
  t.equal(seen.length, 4)
  const [request, , ofResponse] = seen
  t.same(request, {
    trace_id: 'the-trace',
    tenant_id: 'tenant',
    dry_run: false,
    application: { id: 'private' },
    proxy: { id: 'proxy-id', name: 'Payments' },
    destination: { scheme: 'https', host: 'dest.test', port: mirrors.h1.port },
    method: 'POST',
    content_type: 'application/json',
    request_bytes: request?.request_bytes,
    streamed: false,
    tokens: [
      { id: 'card', container: '/general/high/' },
      { id: 'name', container: '/general/high/' },
    ],
  })
  t.ok(Number(request?.request_bytes) > 0)
  t.match(ofResponse, { ...request, response: { status: 200, ms: Number, bytes: 2 } })
  const isFrozen = (value: unknown): boolean =>
    typeof value !== 'object' ||
    value === null ||
    (Object.isFrozen(value) && Object.values(value).every(isFrozen))
  t.ok(seen.every(isFrozen))
  t.notMatch(JSON.stringify(seen), /4242|Lovelace|of-the-proxy|query|pay|text of/)
})

t.test('statuses, empty bodies and trailers pass the checks on responses', async (t) => {
  for (const status of [204, 304, 404, 500]) {
    seen.length = 0
    t.equal((await send({}, { status, headers: JSON_TYPE })).status, status)
    t.match(seen.at(-1), { response: { status } })
  }
  t.equal((await send({ method: 'GET', body: '' })).status, 200)
  for (const protocol of ['h1', 'h2'] as const)
    for (const wait of [false, true]) {
      acts = wait
        ? { 'response-open': () => new Promise((resolve) => setTimeout(resolve, 10, undefined)) }
        : {}
      const trailed = await send(
        {},
        { headers: {}, pieces: ['a', 'b'], trailers: { 'x-sum': 'ok' } },
        protocol,
      )
      t.match(trailed, { status: 200, text: 'ab' }, `${protocol}, ${wait}`)
      const large = 'x'.repeat(3_000_000)
      t.equal((await send({}, { pieces: [large, large] }, protocol)).text.length, 6_000_000)
    }
  const { values } = await world.far.deps.metrics.guard.unseen.get()
  t.equal(values[0]?.value, 0, 'every response was seen')
})

t.test('a destination that cannot be reached has no response to check', async (t) => {
  const response = await call(world.port, '/proxy', {
    to: 'https://dest.test:1/x',
    body: BODY,
    headers: JSON_TYPE,
  })
  t.equal(response.json.proxy_error.code, 'destination_unreachable')
  t.equal(seen.length, 2)
})

t.test('a response is checked before its transform runs, and beside the response guard', async (t) => {
  world.far.proxies.set('transformed', {
    id: 'proxy-id',
    tenantId: 'tenant',
    requireAuth: true,
    configuration: {},
    destinationUrl: `https://dest.test:${mirrors.h1.port}`,
    responseTransform:
      'module.exports = ({ args: { body, headers } }) => ({ body: { ...body, more: 1 }, headers })',
  })
  const headers = { 'svc-proxy-key': 'transformed' }
  t.match(await send({ headers }), { status: 200, json: { fine: true, more: 1 } })
  world.far.runs.length = 0
  acts = { 'response-closed': async () => DENY }
  t.match(await send({ headers }), { status: 403 })
  t.equal(world.far.runs.length, 0)
  const guarded = { 'svc-proxy-guard': 'replace' }
  t.match(await send({ headers: guarded }), { status: 403 })
  acts = {}
  const repeated = { headers: JSON_TYPE, pieces: ['{"n":"4242424242424242"}'] }
  t.strictSame((await send({ headers: guarded }, repeated)).json, { n: "{{ card | json: '$.number' }}" })
})

t.test('a streamed body is checked before the tokens of each part are opened', async (t) => {
  const to = `https://dest.test:${mirrors.h1.port}/x`
  mirrors.h1.respond = (body) => ({ pieces: [body], trailers: { 'x-sum': 'ok' } })
  const parts = ['{"a":"{{ name }}",', `"b":"{{ card | json: '$.number' }}"}`]
  const response = await upload(world.port, to, parts, { headers: JSON_TYPE })
  t.match(response, { status: 200, text: /4242424242424242/ })
  const named = seen
    .filter(({ response }) => !response)
    .map(({ tokens }) => tokens.map(({ id }) => id).join())
  t.equal(named[0], '')
  t.ok(named.join(' ').includes('name') && named.join(' ').includes('card'))
  t.ok(seen.every(({ streamed }) => streamed))
  t.match(seen.at(-1), { response: { status: 200 } })
  t.notMatch(JSON.stringify(seen), '4242')

  world.far.uses.length = 0
  acts = {
    'request-closed': async ({ tokens }) => (tokens.some(({ id }) => id === 'card') ? DENY : undefined),
  }
  const large = ['{"a":"', 'x'.repeat(200_000), `","b":"{{ card | json: '$.number' }}"}`]
  await t.rejects(
    upload(world.port, to, large, { headers: JSON_TYPE }).then(({ status }) => {
      if (status !== 200) throw new Error(`${status}`)
    }),
  )
  t.same(world.far.uses, [], 'the card was not opened')
  await until('a record', () =>
    messages().includes('Proxy call denied: check "request-closed", outside_hours'),
  )

  acts = { 'response-closed': async () => DENY }
  t.match(await upload(world.port, to, parts, { headers: JSON_TYPE }), { status: 403 })
  acts = { 'request-open': async () => ({ labels: { a: 'b' } }) }
  world.far.records.length = 0
  await upload(world.port, to, parts, { headers: JSON_TYPE })
  t.equal(world.far.records.filter(({ operation }) => operation === 'check').length, 1, 'labels once')
})
