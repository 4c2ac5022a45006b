import { connect } from 'node:http2'
import { Client, credentials, status } from '@grpc/grpc-js'
import { service as healthService } from 'grpc-health-check'
import t from 'tap'
import { loadOperations } from '../../src/commands/operations.ts'
import { createGrpcClient } from '../kit/grpc.ts'
import { startOutside } from '../kit/outside.ts'
import { ALL_TOKEN_PERMISSIONS } from '../kit/sidevault.ts'
import { until } from '../supervisor/processes.ts'

const operations = await loadOperations({ plugins: ['*'], pluginBases: [], pluginConfig: {} })
const { sidevault: vault } = await startOutside()
const client = createGrpcClient(`127.0.0.1:${vault.port}`, operations)
t.teardown(() => client.close())
const key = await vault.application({ permissions: ALL_TOKEN_PERMISSIONS })
const call = (
  rpc: string,
  input: Record<string, unknown>,
  metadata: Record<string, string> = { 'svc-api-key': key },
) => client.call(rpc, input, { metadata })

t.test('one port serves HTTP and gRPC over the same data', async (t) => {
  const metadata = { one: '1' }
  const created = await call('Tokens.Create', { data: { a: [1, null, 'x'] }, metadata })
  t.equal(created.code, status.OK, created.message)
  const id = String(created.output?.id)
  const http = await vault.call('GET', `/tokens/${id}`, { key })
  t.strictSame(http.json, created.output)
  t.equal((await vault.call('DELETE', `/tokens/${id}`, { key })).status, 204)
  t.equal((await call('Tokens.Get', { id })).code, status.NOT_FOUND)
})

t.test('status, problem and trace id of a failed call arrive through Envoy', async (t) => {
  const response = await call(
    'Tokens.Create',
    { type: 'card', data: { number: '1' } },
    {
      'bt-api-key': key,
      'bt-trace-id': 'mine',
    },
  )
  t.equal(response.code, status.INVALID_ARGUMENT)
  t.match(response.problem, { code: 'invalid', status: 400, errors: { 'data.number': [/./] } })
  t.equal(response.metadata['bt-trace-id'], 'mine')
  const ok = await call('Permissions.List', {})
  t.match(ok.metadata['svc-trace-id'], /./)
  t.equal((await call('Permissions.List', {}, {})).code, status.UNAUTHENTICATED)
})

t.test('a large message passes, one above the limit is rejected with its problem', async (t) => {
  const fine = await call('Tokens.Tokenize', { body: 'x'.repeat(900_000) })
  t.equal(fine.code, status.OK, fine.message)
  const above = await call('Tokens.Tokenize', { body: 'x'.repeat(1_100_000) })
  t.equal(above.code, status.RESOURCE_EXHAUSTED)
  t.equal(above.problem?.status, 413)
})

t.test('many calls at once share a connection', async (t) => {
  const responses = await Promise.all(
    Array.from({ length: 200 }, (_, i) => call('Tokens.Create', { data: `value ${i}` })),
  )
  t.same(new Set(responses.map(({ code }) => code)), new Set([status.OK]))
  t.equal(new Set(responses.map(({ output }) => output?.id)).size, 200)
})

t.test('health is served without a key', async (t) => {
  const plain = new Client(`127.0.0.1:${vault.port}`, credentials.createInsecure())
  t.teardown(() => plain.close())
  const { requestSerialize, responseDeserialize } = healthService.Check!
  const health = () =>
    new Promise<{ status: string } | undefined>((resolve) => {
      plain.makeUnaryRequest(
        '/grpc.health.v1.Health/Check',
        requestSerialize as never,
        responseDeserialize as never,
        { service: 'sidevault.v1.Tokens' } as never,
        (_error, value) => resolve(value as { status: string } | undefined),
      )
    })
  // It looks at the parts every now and then, Envoy among them.
  await until('it is SERVING', async () => (await health())?.status === 'SERVING')
  t.pass()
})

/** The head of the response to one HTTP/2 request with exactly these headers; `open`: the request does not end. */
const raw = async (
  headers: Record<string, string>,
  open = false,
): Promise<Record<string, string | undefined>> => {
  const session = connect(vault.url)
  try {
    return await new Promise((resolve, reject) => {
      const stream = session.request(headers, { endStream: !open })
      stream.on('response', (response) => resolve(response as never))
      stream.on('error', reject)
      session.on('error', reject)
    })
  } finally {
    session.close()
  }
}

t.test('gRPC requests are routed to gRPC, others as before', async (t) => {
  const post = { ':method': 'POST', te: 'trailers' }
  const grpc = { ...post, 'content-type': 'application/grpc' }
  const unknown = await raw({ ...grpc, ':path': '/no.such.Service/Method' })
  t.equal(unknown['grpc-status'], String(status.UNIMPLEMENTED))
  t.equal((await raw({ ...grpc, ':path': '/tokens' }))['grpc-status'], String(status.UNIMPLEMENTED))
  const json = { ...post, 'content-type': 'application/json' }
  t.equal(
    (await raw({ ...json, ':path': '/sidevault.v1.Tokens/Create' }))[':status'],
    404,
    'no gRPC, no service',
  )
  const typed = { ...post, 'content-type': 'application/grpcx' }
  t.equal((await raw({ ...typed, ':path': '/sidevault.v1.Tokens/Create' }))[':status'], 404)
  // A gRPC call to a destination is the proxy's: without a key it is rejected, and does not reach our services.
  const proxied = await raw({
    ...grpc,
    ':path': '/proxy/some.Service/Method',
    'svc-proxy-url': 'https://x.test',
  })
  t.not(proxied['grpc-status'], String(status.UNIMPLEMENTED))
})

t.test('a page that no number of JSON can name is empty', async (t) => {
  const far = Buffer.from('08ffffffffffffffff7f', 'hex') // page: 2^63 - 1
  for (const [rpc, as] of [
    ['Applications.List', vault.managementKey],
    ['Logs.List', vault.managementKey],
    ['Tokens.List', key],
  ] as const) {
    const response = await client.call(rpc, {}, { metadata: { 'svc-api-key': as }, bytes: far })
    t.equal(response.code, status.OK, `${rpc}: ${response.message}`)
    t.strictSame(response.output?.data, [])
  }
})

t.test('the deadline set by a caller reaches the service', async (t) => {
  const response = await raw(
    {
      ':method': 'POST',
      ':path': '/sidevault.v1.Permissions/List',
      'content-type': 'application/grpc',
      te: 'trailers',
      'svc-api-key': key,
      'grpc-timeout': '1m',
    },
    true,
  )
  t.equal(response['grpc-status'], String(status.DEADLINE_EXCEEDED))
})
