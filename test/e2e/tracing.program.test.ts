import t from 'tap'
import { loadOperations } from '../../src/commands/operations.ts'
import { type ExportedSpan, startCollector } from '../kit/collector.ts'
import { startDestination } from '../kit/destination.ts'
import { createGrpcClient } from '../kit/grpc.ts'
import { startLocalNetwork } from '../kit/local-network.ts'
import { ALL_TOKEN_PERMISSIONS, startSidevault } from '../kit/sidevault.ts'

/** The whole program, whose spans go to a collector. It exports when it stops: the delay is longer than the test. */
const PAN = '5555555555554444'
const SECRET = 'collector-secret-7'
const collector = await startCollector((turn) => (turn === 1 ? 200 : 400))
t.teardown(() => collector.close())
const { certificate, env } = await startLocalNetwork(t, ['dest.test'])
const destination = await startDestination(certificate)
t.teardown(() => destination.close())
const sidevault = await startSidevault({
  env: {
    ...env,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer ${SECRET}`,
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    OTEL_SERVICE_NAME: 'vault-of-tests',
    OTEL_BSP_SCHEDULE_DELAY: '600000',
  },
})
let isRunning = true
t.teardown(() => isRunning && sidevault.stop())

const PARENT = '00f067aa0ba902b7'
let traces = 0
/** The caller's headers for a trace of its own. */
const newTrace = () => {
  const traceId = `4bf92f3577b34da6a3ce929d0e0e${String(traces++).padStart(4, '0')}`
  return { traceId, headers: { traceparent: `00-${traceId}-${PARENT}-01`, tracestate: 'vendor=opaque-5' } }
}

const application = { name: 'traced', type: 'private', permissions: ALL_TOKEN_PERMISSIONS }
const management = sidevault.managementKey
const created = await sidevault.call('POST', '/applications', { key: management, body: application })
const { key, id: applicationId } = created.json
const data = { number: PAN, expiration_month: 1, expiration_year: 2031 }
const card = { type: 'card', data, metadata: { note: 'metadata-6' } }
const token = await sidevault.call('POST', '/tokens', { key, body: card })
const url = `https://dest.test:${destination.port}/base-path`
const code = (text: string) => ({ code: `module.exports = async (req) => { ${text} }` })
const proxy = await sidevault.call('POST', '/proxies', {
  key: management,
  body: {
    name: 'proxy',
    destination_url: url,
    request_transform: code('const { body, headers } = req.args; return { body, headers }'),
    response_transform: code("console.log('printed'); return { body: {}, headers: {} }"),
  },
})
const reactor = await sidevault.call('POST', '/reactors', {
  key: management,
  body: {
    name: 'reactor',
    application: { id: applicationId },
    ...code('return { raw: (await req.bt.tokens.retrieve(req.args.id)).id }'),
  },
})
if (reactor.status !== 201) throw new Error(reactor.text)

const seen = {
  ephemeral: newTrace(),
  stored: newTrace(),
  denied: newTrace(),
  read: newTrace(),
  react: newTrace(),
  grpc: newTrace(),
}
const body = { pan: `{{ ${token.json.id} | json: '$.number' }}` }
const ephemeral = await sidevault.call('POST', '/proxy/private-path?private-query=1', {
  key,
  body,
  headers: { ...seen.ephemeral.headers, 'svc-proxy-url': url },
})
const forwarded = destination.last()
const stored = await sidevault.call('POST', '/proxy/private-path', {
  key,
  body,
  headers: { ...seen.stored.headers, 'svc-proxy-key': proxy.json.key },
})
const denied = await sidevault.call('POST', '/proxy', {
  key,
  body: { a: `{{ ${token.json.id.slice(0, -1)} }}` },
  headers: { ...seen.denied.headers, 'svc-proxy-url': url },
})
const read = await sidevault.call('GET', `/tokens/${token.json.id}`, { key, headers: seen.read.headers })
const react = await sidevault.call('POST', `/reactors/${reactor.json.id}/react`, {
  key: await sidevault.application({ permissions: ['token:use'] }),
  body: { args: { id: token.json.id } },
  headers: seen.react.headers,
})
const own = await sidevault.call('GET', '/permissions', { key: management })
const operations = await loadOperations({ plugins: ['*'], pluginBases: [], pluginConfig: {} })
const client = createGrpcClient(`127.0.0.1:${sidevault.port}`, operations)
const metadata = { 'svc-api-key': key, ...seen.grpc.headers }
const unary = await client.call('Tokens.Get', { id: 'none' }, { metadata })
client.close()
const before = collector.exports.length
isRunning = false
const exit = await sidevault.stop()
const spans = collector.spans()

const of = ({ traceId }: { readonly traceId: string }) => spans.filter((span) => span.traceId === traceId)
/** Names of the spans below one, each with those below it. */
const treeOf = (all: readonly ExportedSpan[], parent: string): Record<string, object> =>
  Object.fromEntries(
    all
      .filter(({ parentSpanId }) => parentSpanId === parent)
      .map(({ name, spanId }) => [name, treeOf(all, spanId)]),
  )

t.test('the last spans are exported when the service stops', async (t) => {
  t.equal(exit, 0)
  t.equal(before, 0)
  t.ok(collector.exports.length >= 2, 'by the gateway and the admin process')
  for (const { path, headers } of collector.exports) {
    t.equal(path, '/v1/traces')
    t.equal(headers.authorization, `Bearer ${SECRET}`)
  }
  for (const { resource } of spans)
    t.match(resource, {
      'service.name': 'vault-of-tests',
      'deployment.environment.name': 'test',
      'sidevault.process': /^(admin|gateway-0)$/,
    })
})

t.test(
  'a proxied call is a child of its caller, and the parent of its steps and its destination',
  async (t) => {
    t.equal(ephemeral.status, 200, ephemeral.text)
    const all = of(seen.ephemeral)
    t.match(treeOf(all, PARENT), {
      proxy: { authenticate: {}, plan: {}, use: {}, apply: {}, destination: {} },
    })
    const call = all.find(({ name }) => name === 'proxy')
    t.match(call, { kind: 2, attributes: { 'sidevault.outcome': 'answered', 'sidevault.tokens': 1 } })
    const out = all.find(({ name }) => name === 'destination')
    t.match(out, { kind: 3, attributes: { 'server.address': 'dest.test', 'http.response.status_code': 200 } })
    t.equal(forwarded.headers.traceparent, `00-${seen.ephemeral.traceId}-${out?.spanId}-01`)
    const line = sidevault
      .stderr()
      .split('\n')
      .find((text) => text.includes(seen.ephemeral.traceId))
    t.match(JSON.parse(line ?? '{}'), { msg: 'proxied call', span_id: call?.spanId })
  },
)

t.test('code is a span below its transform, and a response transform knows the status', async (t) => {
  t.equal(stored.status, 200, stored.text)
  const all = of(seen.stored)
  t.match(treeOf(all, PARENT), { proxy: { use: {}, transform: { sandbox: {} }, destination: {} } })
  t.equal(all.filter(({ name }) => name === 'sandbox').length, 2)
  const out = all.find(({ name }) => name === 'destination')
  t.equal(out?.attributes['http.response.status_code'], 200)
})

t.test('a denied call has its status and code, and no destination', async (t) => {
  t.equal(denied.status, 400, denied.text)
  const all = of(seen.denied)
  const call = all.find(({ name }) => name === 'proxy')
  t.match(call?.attributes, { 'http.response.status_code': 400, 'error.type': 'invalid_expression' })
  t.equal(call?.status, 0, "the caller's error is no error of the service")
  t.notOk(all.some(({ name }) => name === 'destination'))
})

t.test(
  'calls of the API have spans over both transports, and what code calls is below the code',
  async (t) => {
    t.equal(read.status, 200, read.text)
    t.equal(read.headers.get('svc-trace-id'), seen.read.traceId)
    t.match(treeOf(of(seen.read), PARENT), { 'Tokens.Get': { validate: {}, run: {} } })
    t.equal(react.status, 200, react.text)
    t.match(treeOf(of(seen.react), PARENT), {
      'Reactors.React': { sandbox: { 'Tokens.Get': { run: {} } } },
    })
    t.equal(unary.metadata['svc-trace-id'], seen.grpc.traceId)
    t.match(of(seen.grpc).find(({ name }) => name === 'Tokens.Get')?.attributes, {
      'http.response.status_code': 404,
      'error.type': 'token_not_found',
    })
    const [root] = of({ traceId: own.headers.get('svc-trace-id') ?? '' }).filter(({ kind }) => kind === 2)
    t.match(
      root,
      { name: 'Permissions.List', parentSpanId: '' },
      'a call without a trace begins one of its id',
    )
    t.notOk(
      spans.some(({ name }) => /readyz|healthz|metrics/.test(name)),
      'probes have none',
    )
  },
)

t.test('the export holds names, codes and counts only, and no log holds its credentials', async (t) => {
  const everything = Buffer.concat(collector.exports.map(({ bytes }) => bytes)).toString('latin1')
  t.ok(everything.includes('dest.test'), 'texts of the export are readable')
  for (const text of [
    ...[PAN, PAN.slice(0, 6), PAN.slice(-4), token.json.id, proxy.json.id, proxy.json.key, key, management],
    ...['private-path', 'private-query', 'base-path', 'metadata-6', 'opaque-5', 'printed', SECRET],
  ])
    t.notOk(everything.includes(text), text)
  t.match(sidevault.stderr(), /"level":"warn".*"msg":"spans not exported"/, 'the second export was rejected')
  t.notOk((sidevault.stdout() + sidevault.stderr()).includes(SECRET))
})
