import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import type { RecentRequest } from '../../src/common/request-ring.ts'
import { startGateway } from '../../src/gateway/server.ts'
import { type CallOptions, KEYS, startWorld, type World } from '../kit/egress.ts'
import { listenFor } from '../kit/listen.ts'
import { until } from '../kit/until.ts'

const IDENTITY = 'module.exports = ({ args: { body, headers } }) => ({ body, headers })'

const h1 = await startWorld({ bootstrap: { egress: { timeoutMs: 500 } } })
const h2 = await startWorld({ protocol: 'h2' })
t.teardown(async () => {
  await h1.close()
  await h2.close()
})

/** ms until the end of a call is known: more than a gateway waits for an entry of Envoy's log. */
const KNOWN_MS = 30_000

/** The row of a call, once its end is known. */
const rowOf = async ({ far }: World, traceId: string): Promise<RecentRequest> => {
  let row: RecentRequest | undefined
  const look = () => {
    row = far.deps.metrics.recent
      .list({ tenantId: 'tenant', limit: 1_000 })
      .find((each) => each.traceId === traceId && each.outcome !== 'sent')
    return row !== undefined
  }
  await until(`the end of the call "${traceId}" is known`, look, KNOWN_MS)
  return row as unknown as RecentRequest
}

let calls = 0

/** Makes a call that discloses a value, unless it has another body. */
const send = async (world: World, to: string, { headers, ...options }: CallOptions = {}) => {
  const traceId = `outcome-${++calls}`
  const body = '{"name":"{{ name }}"}'
  const request = { to, body, ...options, headers: { 'svc-trace-id': traceId, ...headers } }
  const response = await world
    .post('/proxy', { ...request, headers: { 'content-type': 'application/json', ...request.headers } })
    .catch(() => undefined)
  const row = await rowOf(world, traceId)
  const records = world.far.records.filter(
    ({ trace_id, operation }) => trace_id === traceId && operation === 'outcome',
  )
  return { response, row, records }
}

for (const [name, world] of [
  ['HTTP/1.1', h1],
  ['HTTP/2', h2],
] as const)
  t.test(`a call to a destination that responds over ${name} has its status and bytes`, async (t) => {
    const { response, row, records } = await send(world, world.url('/status/203'))
    t.match(response, { status: 203, headers: { 'svc-proxy-outcome': 'answered' } })
    t.match(row, {
      outcome: 'answered',
      complete: true,
      status: 203,
      destinationStatus: 203,
      code: undefined,
      requestBytes: '{"name":"{{ name }}"}'.length,
      responseBytes: 'as it is'.length,
      totalMs: Number,
    })
    t.match(records, [{ entity_type: 'proxy', message: 'Outcome answered: 203' }])
  })

t.test('an error of the destination is answered, without a code of ours', async (t) => {
  const { response, row } = await send(h1, h1.url('/status/500'))
  t.match(response, { status: 500, headers: { 'svc-proxy-outcome': 'answered' } })
  t.match(row, { outcome: 'answered', status: 500, destinationStatus: 500, code: undefined })
})

t.test('a call that reaches no destination is not sent', async (t) => {
  const port = await new Promise<number>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' ? (address?.port ?? 0) : 0))
    })
  })
  h1.dns.set('closed.dest.test', { a: ['127.0.0.1'] })
  h1.dns.set('private.dest.test', { a: ['10.0.0.1'] })
  h1.dns.set('wrong-name.test', { a: ['127.0.0.1'] })
  for (const [what, to, status, code] of [
    ['the port is closed', `https://closed.dest.test:${port}/`, 502, 'destination_unreachable'],
    ['the name does not resolve', h1.url('/', 'nowhere.dest.test'), 502, 'destination_unreachable'],
    ['the address is denied', h1.url('/', 'private.dest.test'), 403, 'destination_not_allowed'],
    ['the certificate is of another name', h1.url('/', 'wrong-name.test'), 502, 'destination_unreachable'],
    ['the gateway denies the address', 'https://127.0.0.2/', 403, 'destination_not_allowed'],
  ] as const) {
    const { response, row, records } = await send(h1, to)
    t.match(response, { status, headers: { 'svc-proxy-outcome': 'not_sent' } }, what)
    t.match(row, { outcome: 'not_sent', status, destinationStatus: undefined, code }, what)
    if (row.tokens > 0) t.match(records, [{ message: `Outcome not_sent: ${code}` }], what)
  }
})

t.test('a call whose destination does not respond has an unknown outcome', async (t) => {
  for (const [path, status, code] of [
    ['/reset', 502, 'destination_unreachable'],
    ['/slow?ms=5000', 408, 'destination_timeout'],
  ] as const) {
    const { response, row, records } = await send(h1, h1.url(path))
    t.match(response, { status, headers: { 'svc-proxy-outcome': 'unknown' } }, path)
    t.match(row, { outcome: 'unknown', status, destinationStatus: undefined, code, details: String }, path)
    t.match(records, [{ message: `Outcome unknown: ${code}` }], path)
  }
})

t.test('a streamed upload has an outcome', async (t) => {
  const streamed = { headers: { 'svc-proxy-stream': 'true' } }
  const sent = await send(h1, h1.url('/status/201'), streamed)
  t.match(sent.response, { status: 201, headers: { 'svc-proxy-outcome': 'answered' } })
  t.match(sent.row, { outcome: 'answered', complete: true, status: 201, destinationStatus: 201, tokens: 1 })
  t.match(sent.records, [{ message: 'Outcome answered: 201' }])
  const reset = await send(h1, h1.url('/reset'), streamed)
  t.match(reset.response, { status: 502, headers: { 'svc-proxy-outcome': 'unknown' } })
  t.match(reset.row, { outcome: 'unknown', status: 502 })
})

t.test('a response that breaks off is answered, and not complete', async (t) => {
  const { response, row, records } = await send(h1, h1.url('/halfway'))
  t.equal(response, undefined, 'it breaks off for the caller too')
  t.match(row, { outcome: 'answered', complete: false, status: 200, details: /reset/ })
  t.match(records, [{ message: 'Outcome answered: cut off' }])
})

t.test('a call that the gateway denies is not sent', async (t) => {
  const denied = await send(h1, h1.url(), { key: KEYS.idle })
  t.match(denied.response, { status: 403, headers: { 'svc-proxy-outcome': 'not_sent' } })
  t.match(denied.row, { outcome: 'not_sent', status: 403 })
  t.same(denied.records, [], 'nothing was disclosed')
})

t.test('a body that stops before its end is not sent', async (t) => {
  const socket = connect(h1.port, '127.0.0.1')
  const traceId = `outcome-${++calls}`
  socket.write(
    `POST /proxy HTTP/1.1\r\nhost: x\r\nsvc-api-key: ${KEYS.private}\r\nsvc-proxy-url: ${h1.url()}\r\nsvc-trace-id: ${traceId}\r\ncontent-length: 10\r\n\r\n12345`,
  )
  await new Promise((resolve) => setTimeout(resolve, 200))
  socket.destroy()
  t.match(await rowOf(h1, traceId), { outcome: 'not_sent', status: undefined })
})

t.test('a response that is transformed, or cannot be, is answered', async (t) => {
  const proxy = { id: 'proxy', tenantId: 'tenant', requireAuth: true, configuration: {} }
  h1.far.proxies.set('good', { ...proxy, destinationUrl: h1.url(), responseTransform: IDENTITY })
  h1.far.proxies.set('bad', { ...proxy, destinationUrl: h1.url(), responseTransform: 'throw 1' })
  const through = (key: string) => ({ headers: { 'svc-proxy-key': key, 'svc-proxy-url': '' } })
  const good = await send(h1, '', through('good'))
  t.match(good.response, { status: 200, headers: { 'svc-proxy-outcome': 'answered' } })
  t.match(good.row, { outcome: 'answered', complete: true, status: 200, proxyId: 'proxy' })
  const bad = await send(h1, '', through('bad'))
  t.match(bad.response?.headers, { 'svc-proxy-outcome': 'answered', 'svc-proxy-destination-status': '200' })
  t.match(bad.row, { outcome: 'answered', status: bad.response?.status, destinationStatus: 200 })
})

t.test('a forged outcome of the destination does not reach the caller', async (t) => {
  const forged = JSON.stringify({
    headers: { 'svc-proxy-outcome': 'not_sent', 'bt-proxy-outcome': 'unknown' },
  })
  const { response } = await send(h1, h1.url('/response'), { headers: { 'x-response': forged } })
  t.match(response?.headers, { 'svc-proxy-outcome': 'answered', 'bt-proxy-outcome': undefined })
})

t.test('calls are counted by outcome', async (t) => {
  const metrics = await h1.far.deps.metrics.registry.getMetricsAsJSON()
  const counted = metrics.find(({ name }) => name === 'sidevault_proxy_requests_total')
  const outcomes = new Set(counted?.values.map(({ labels }) => labels.outcome))
  t.same([...outcomes].sort(), ['answered', 'not_sent', 'unknown'])
})

t.test('a call whose gateway is killed after the request left has an unknown outcome', async (t) => {
  const world = await startWorld({ withGateway: false })
  t.teardown(() => world.close())
  const first = fork(fileURLToPath(new URL('../kit/gateway-process.ts', import.meta.url)), [world.directory])
  t.teardown(() => first.kill('SIGKILL'))
  await once(first, 'message')
  const traceId = `with blanks ${++calls}`
  const sent = world.post('/proxy/slow?ms=20000', {
    to: world.url(),
    headers: { 'svc-trace-id': traceId },
    method: 'GET',
  })
  await until('the destination has the request', () => world.destination.received.length > 0, KNOWN_MS)
  // Before the other one is killed: Envoy drops an entry of its log that nothing accepts 250 ms after the call.
  const gateway = await startGateway(world.far.deps, {
    socketPath: join(world.directory, 'gateway.sock'),
    logSocketPath: join(world.directory, 'log.sock'),
    prefixes: ['SVC', 'BT'],
    egress: { allow: ['127.0.0.1/32'], http: false, ports: '*' },
  })
  t.teardown(() => gateway.close(100))
  first.kill('SIGKILL')
  t.match(await sent, { status: 504, headers: { 'svc-proxy-outcome': 'unknown' } })
  t.match(await rowOf(world, traceId), {
    outcome: 'unknown',
    status: 504,
    code: 'gateway_timeout',
    host: 'dest.test',
    applicationId: 'private',
  })
  t.match(
    world.far.records.filter(({ operation }) => operation === 'outcome'),
    [{ trace_id: traceId, actor_id: 'private', message: 'Outcome unknown: gateway_timeout' }],
  )
})

t.test('a connection that sends nothing back leaves the outcome unknown', async (t) => {
  const port = await listenFor(
    t,
    createServer((socket) => socket.on('data', () => socket.destroy())),
  )
  h1.dns.set('plain.dest.test', { a: ['127.0.0.1'] })
  const { row } = await send(h1, `https://plain.dest.test:${port}/`)
  t.equal(row.outcome, 'not_sent', 'the TLS handshake did not succeed')
})
