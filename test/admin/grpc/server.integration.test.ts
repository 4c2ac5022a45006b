import { once } from 'node:events'
import { connect as connectHttp2, constants } from 'node:http2'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client, credentials, Metadata, status } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { service as healthService } from 'grpc-health-check'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { startGrpc } from '../../../src/admin/grpc/server.ts'
import { createLog } from '../../../src/common/log.ts'
import {
  AppError,
  defineOperation,
  definePlugin,
  invalid,
  type PluginContext,
} from '../../../src/sdk/index.ts'
import { createGrpcClient } from '../../kit/grpc.ts'
import { startTestService } from '../../kit/service.ts'
import { openInThread } from '../../kit/store-in-thread.ts'

/** Operations that tests hold on to. */
const createSlow = () => {
  const began = Promise.withResolvers<AbortSignal>()
  const finish = Promise.withResolvers<void>()
  const plugin = definePlugin({
    api: 1,
    name: 'slow',
    version: '1.0.0',
    setup: (_context: PluginContext) => ({
      operations: [
        defineOperation({
          rpc: 'Slow.Wait',
          http: 'POST /slow',
          summary: 'Wait',
          permission: 'any key',
          audit: 'none',
          input: Type.Object({}),
          output: Type.Object({ done: Type.Boolean({ field: 1 }) }),
          run: async (_input, call) => {
            began.resolve(call.signal)
            await finish.promise
            return { done: true }
          },
        }),
        defineOperation({
          rpc: 'Slow.Fail',
          http: 'POST /fail',
          summary: 'Fail',
          permission: 'none',
          audit: 'none',
          input: Type.Object({ how: Type.String({ field: 1 }) }),
          output: Type.Object({}),
          run: async ({ how }) => {
            if (how === 'limit') throw new AppError('rate_limited', 'Too many calls.', { retryAfter: 1.5 })
            if (how === 'issues')
              throw invalid(
                Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`m${i}`, ['x'.repeat(200)]])),
              )
            throw new Error('the card 4242424242424242 broke it')
          },
        }),
      ],
    }),
  })
  return { plugin, began: began.promise, finish: () => finish.resolve() }
}

const start = async (
  t: Test,
  options: Partial<Parameters<typeof startGrpc>[1]> & { log?: string[] } = {},
) => {
  const slow = createSlow()
  const service = await startTestService(t, { openStore: openInThread, plugins: ['*', slow.plugin] })
  const { kernel, metrics } = service
  const { log: lines, ...rest } = options
  const log =
    lines === undefined
      ? createLog('test', 'silent')
      : pino({ level: 'info' }, { write: (line: string) => lines.push(line) })
  const socketPath = join(service.directory, 'grpc.sock')
  const grpc = await startGrpc(
    { kernel, metrics, log },
    { socketPath, prefixes: ['SVC', 'BT'], healthInterval: 20, ...rest },
  )
  const client = createGrpcClient(`unix:${socketPath}`, kernel.registry.operations)
  t.teardown(async () => {
    slow.finish()
    client.close()
    await grpc.close()
  })
  const key = await service.application({
    permissions: ['token:create', 'token:read', 'token:update', 'token:use'],
  })
  const reveal = await service.application({
    rules: [
      { description: 'all', priority: 1, container: '/', transform: 'reveal', permissions: ['token:read'] },
    ],
  })
  const call = (
    rpc: string,
    input: Record<string, unknown>,
    more: { key?: string; metadata?: object } = {},
  ) => client.call(rpc, input, { metadata: { 'svc-api-key': more.key ?? key, ...more.metadata } })
  return { service, grpc, client, socketPath, call, key, reveal, slow }
}

/** For tests that need no settings, and leave it as it is. */
const shared = await start(t)

t.test('a change of another version than if_match names is FAILED_PRECONDITION', async (t) => {
  const { call } = shared
  const { output, metadata } = await call('Tokens.Create', { data: 'x' })
  const update = (more: object) =>
    call('Tokens.Update', { id: output?.id, metadata: { a: 'b' }, ...more } as Record<string, unknown>)
  const changed = await update({ if_match: metadata.etag })
  t.equal(changed.code, status.OK)
  t.not(changed.metadata.etag, metadata.etag)
  t.match(await update({ if_match: metadata.etag }), {
    code: status.FAILED_PRECONDITION,
    problem: { status: 412, code: 'precondition_failed' },
  })
  t.equal((await update({ if_match: '' })).code, status.FAILED_PRECONDITION, 'sent as nothing')
  t.equal((await update({})).code, status.OK)
  t.equal((await update({ null_members: ['if_match'] })).code, status.INVALID_ARGUMENT)
})

t.test(
  'a formula that a reactor uses, and a session that is authorized, are FAILED_PRECONDITION',
  async (t) => {
    const { call, service } = await start(t)
    const key = service.managementKey
    const formula = { name: 'f', type: 'private', code: 'module.exports = () => ({ raw: 1 })' }
    const { output } = await call('ReactorFormulas.Create', formula, { key })
    await call('Reactors.Create', { name: 'r', formula: { id: output?.id } }, { key })
    t.match(await call('ReactorFormulas.Delete', { id: output?.id }, { key }), {
      code: status.FAILED_PRECONDITION,
      problem: { status: 409, code: 'conflict' },
    })
    const visitor = await call(
      'Applications.Create',
      { name: 'v', type: 'public', permissions: ['token:create'] },
      { key },
    )
    const open = await call('Sessions.Create', {}, { key: visitor.output?.key as string })
    const authorize = () =>
      call('Sessions.Authorize', { nonce: open.output?.nonce, permissions: ['token:create'] })
    t.equal((await authorize()).code, status.OK)
    t.match(await authorize(), { code: status.FAILED_PRECONDITION, problem: { status: 409 } })
  },
)

t.test('any JSON is stored in a token and read back unchanged', async (t) => {
  const { call, client, key, reveal } = shared
  const values = [
    null,
    true,
    0,
    -1.5,
    1e300,
    '',
    'текст 💳',
    [],
    {},
    [null, [1, [{}]]],
    JSON.parse('{"__proto__":{"constructor":1},"a":{"__proto__":null}}'),
    { '': 'empty name', 'a.b': 1 },
  ]
  for (const data of values) {
    const { output } = await call('Tokens.Create', { data: { data } })
    const read = await call('Tokens.Get', { id: output?.id }, { key: reveal })
    t.equal(JSON.stringify((read.output as { data: { data: unknown } }).data.data), JSON.stringify(data))
  }
  const deep = (depth: number) => JSON.parse('['.repeat(depth) + ']'.repeat(depth))
  t.equal((await call('Tokens.Tokenize', { body: deep(64) })).code, status.OK)
  t.match((await call('Tokens.Tokenize', { body: deep(65) })).problem, {
    status: 400,
    code: 'malformed',
  })
  const names = Object.fromEntries(Array.from({ length: 2_001 }, (_, at) => [`m${at}`, at]))
  t.match((await call('Tokens.Tokenize', { body: names })).problem, {
    status: 400,
    code: 'malformed',
  })
  const bytes = Buffer.from('0a00'.repeat(75_001), 'hex')
  const many = await client.call('Tokens.Tokenize', {}, { bytes, metadata: { 'svc-api-key': key } })
  t.match(many.problem, { status: 400, code: 'malformed' })
})

t.test('absent, null and empty members are distinguished', async (t) => {
  const { call, service } = shared
  const type = 'social_security_number'
  const searcher = await service.application({ permissions: ['token:search'] })
  /** Whether the token is found by the indexes that its type has by default. */
  const isFound = async (id: unknown) => {
    const { output } = await call('Tokens.Search', { query: 'data:1120' }, { key: searcher })
    return (output as { data: { id: string }[] }).data.some((each) => each.id === id)
  }
  const created = await call('Tokens.Create', {
    type,
    data: '078-05-1120',
    metadata: { a: '1', b: '2' },
    expires_at: '2030-01-01T00:00:00Z',
  })
  const id = created.output?.id
  const patch = async (input: object) => (await call('Tokens.Update', { id, ...input })).output ?? {}
  t.match(await patch({ metadata: { a: null } }), { metadata: { b: '2' }, expires_at: /^2030/ })
  t.ok(await isFound(id))
  await patch({ search_indexes: [] })
  t.notOk(await isFound(id), 'empty: none')
  await patch({})
  t.notOk(await isFound(id), 'not sent: as it was')
  await patch({ search_indexes: null })
  t.ok(await isFound(id), 'null: those of the type again')
  t.notOk('expires_at' in (await patch({ expires_at: null })))
  t.notOk('metadata' in (await patch({ metadata: null })))
  const plain = await call('Tokens.Create', { type, data: '079-05-1120', search_indexes: [] })
  t.notOk(await isFound(plain.output?.id))
})

t.test('unknown names of null and empty members are rejected', async (t) => {
  const { client, key } = shared
  const metadata = { 'svc-api-key': key }
  for (const input of [{ null_members: ['nope'] }, { empty_members: ['data'] }, { null_members: ['id.x'] }]) {
    const response = await client.call('Tokens.Update', { id: 'x', ...input }, { metadata })
    t.match(response.problem, { status: 400, code: 'malformed' })
  }
})

t.test('a failed call carries the problem of the HTTP response', async (t) => {
  const { call, client, service } = shared
  const cases = [
    [
      'POST',
      '/tokens',
      'Tokens.Create',
      { type: 'card', data: { number: '4242424242424241' } },
      status.INVALID_ARGUMENT,
    ],
    ['POST', '/tokens', 'Tokens.Create', {}, status.INVALID_ARGUMENT],
    ['GET', '/tokens/none', 'Tokens.Get', { id: 'none' }, status.NOT_FOUND],
    ['DELETE', '/tokens/none', 'Tokens.Delete', { id: 'none' }, status.PERMISSION_DENIED],
  ] as const
  const key = await service.application({ permissions: ['token:create', 'token:read'] })
  for (const [method, path, rpc, input, code] of cases) {
    const response = await call(rpc, input, { key })
    t.equal(response.code, code, `${rpc}: the gRPC code of the table`)
    const http = await service.call(method, path, { key, ...(method === 'POST' ? { body: input } : {}) })
    t.strictSame(response.problem, http.json)
    t.equal(response.message, http.json.detail)
    const { code: reason, errors } = http.json
    t.strictSame(response.details, {
      ErrorInfo: { reason, domain: 'sidevault' },
      ...(errors === undefined
        ? {}
        : {
            BadRequest: {
              fieldViolations: Object.entries<string[]>(errors).flatMap(([field, sentences]) =>
                sentences.map((description) => ({ field, description })),
              ),
            },
          }),
    })
  }
  for (const metadata of [{}, { 'svc-api-key': 'key_wrong' }]) {
    const response = await client.call('Tokens.Get', { id: 'x' }, { metadata })
    t.equal(response.code, status.UNAUTHENTICATED)
    t.equal(response.problem?.status, 401)
  }
})

t.test('a problem fits into the metadata that clients accept, and names what it omits', async (t) => {
  const { call } = shared
  const { problem, code, details } = await call('Slow.Fail', { how: 'issues' })
  t.equal(code, status.INVALID_ARGUMENT)
  const named = Object.keys(problem?.errors ?? {}).length
  t.ok(named > 5)
  t.equal(problem?.left_out, 50 - named)
  t.match(details, { ErrorInfo: { reason: 'invalid' } })
  const limited = await call('Slow.Fail', { how: 'limit' })
  t.match(limited.problem, { status: 429, retry_after: 2 })
  t.match(limited.details, { RetryInfo: { retryDelay: { seconds: '2' } } })
  const broken = await call('Slow.Fail', { how: 'other' })
  t.equal(broken.code, status.INTERNAL)
  t.notMatch(JSON.stringify(broken), '42424242')
})

t.test('a malformed message is 400, for authorized callers only', async (t) => {
  const { client, key, service } = shared
  const send = (bytes: Buffer, as = key) =>
    client.call('Tokens.Create', {}, { bytes, metadata: { 'svc-api-key': as } })
  const before = (await service.call('GET', '/tokens', { key })).json.pagination.total_items
  const texts: readonly (readonly [string, Buffer])[] = [
    ['half a field', Buffer.from([0x0a, 0x7f, 0x61])],
    ['no field at all', Buffer.from([0xff, 0xff, 0xff])],
    ['text that is not UTF-8', Buffer.from([0x1a, 0x04, 0x1a, 0x02, 0xc3, 0x28])],
    ['a number that is not finite', Buffer.from([0x1a, 0x09, 0x11, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f])],
  ]
  for (const [name, bytes] of texts) {
    const response = await send(bytes)
    t.equal(response.code, status.INVALID_ARGUMENT, name)
    t.equal(response.problem?.code, 'malformed', name)
    t.equal((await send(bytes, 'key_wrong')).code, status.UNAUTHENTICATED, name)
  }
  t.equal((await service.call('GET', '/tokens', { key })).json.pagination.total_items, before)
  const replacement = Buffer.from([0x1a, 0x05, 0x1a, 0x03, 0xef, 0xbf, 0xbd])
  t.equal((await send(replacement)).code, status.OK, 'a replacement character that was really sent')
})

t.test('a message above the limit is rejected with the problem of a body above it', async (t) => {
  const { call } = await start(t, { messageLimit: 1000 })
  const response = await call('Tokens.Create', { data: 'x'.repeat(1000) })
  t.equal(response.code, status.RESOURCE_EXHAUSTED)
  t.equal(response.problem?.status, 413)
  const huge = await call('Tokens.Create', { data: 'x'.repeat(2_000_000) })
  t.equal(huge.code, status.RESOURCE_EXHAUSTED)
  t.equal((await call('Tokens.Create', { data: 'x' })).code, status.OK)
})

t.test('the trace id is returned under the header prefix that was used, whatever the outcome', async (t) => {
  const { call, client, key } = shared
  const sent = await call('Tokens.Create', { data: 'x' }, { metadata: { 'svc-trace-id': 'mine 1' } })
  t.equal(sent.metadata['svc-trace-id'], 'mine 1')
  const prefixed = await client.call('Tokens.Get', { id: 'none' }, { metadata: { 'bt-api-key': key } })
  t.equal(prefixed.code, status.NOT_FOUND)
  t.match(prefixed.metadata['bt-trace-id'], /^[0-9a-f]{32}$/)
  const odd = await call('Tokens.Get', { id: 'none' }, { metadata: { 'svc-trace-id': 'x'.repeat(201) } })
  t.match(odd.metadata['svc-trace-id'], /^[0-9a-f]{32}$/)
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  const traced = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` }
  const child = await call('Tokens.Create', { data: 'x' }, { metadata: traced })
  t.equal(child.metadata['svc-trace-id'], traceId)
  const both = await call('Tokens.Create', { data: 'x' }, { metadata: { ...traced, 'svc-trace-id': 'mine' } })
  t.equal(both.metadata['svc-trace-id'], 'mine')
})

t.test('a deadline, a cancellation and the time limit of calls abort the signal', async (t) => {
  const cancelling = new AbortController()
  for (const [options, code, limits] of [
    [{ deadline: 3_000 }, status.DEADLINE_EXCEEDED, {}],
    [{ signal: cancelling.signal }, status.CANCELLED, {}],
    [{}, status.DEADLINE_EXCEEDED, { callTimeout: 2_000 }],
  ] as const) {
    const { client, key, slow } = await start(t, limits)
    const response = client.call('Slow.Wait', {}, { metadata: { 'svc-api-key': key }, ...options })
    const signal = await slow.began
    if ('signal' in options) cancelling.abort()
    t.equal((await response).code, code)
    if (!signal.aborted)
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    t.ok(signal.aborted, status[code])
  }
})

t.test('closing lets calls in flight finish and accepts no others', async (t) => {
  const { client, grpc, key, slow } = await start(t)
  const metadata = { 'svc-api-key': key }
  const response = client.call('Slow.Wait', {}, { metadata })
  await slow.began
  const closed = grpc.close()
  slow.finish()
  t.same((await response).output, { done: true })
  await closed
  t.equal((await client.call('Tokens.Get', { id: 'x' }, { metadata })).code, status.UNAVAILABLE)
})

t.test('calls that outlast the drain timeout are aborted', async (t) => {
  const { client, grpc, key, slow } = await start(t, { drainTimeout: 50 })
  const response = client.call('Slow.Wait', {}, { metadata: { 'svc-api-key': key } })
  await slow.began
  await grpc.close()
  t.not((await response).code, status.OK)
})

t.test('thousands of cancelled calls do not end a connection that others share', async (t) => {
  const { socketPath } = await start(t)
  const session = connectHttp2('http://localhost', { createConnection: () => connect(socketPath) })
  t.teardown(() => session.destroy())
  const head = {
    ':method': 'POST',
    ':path': '/sidevault.v1.Permissions/List',
    'content-type': 'application/grpc',
    te: 'trailers',
  }
  for (let round = 0; round < 30; round++)
    await Promise.all(
      Array.from({ length: 100 }, async () => {
        const stream = session.request(head)
        stream.on('error', () => {})
        stream.close(constants.NGHTTP2_CANCEL)
        await once(stream, 'close')
      }),
    )
  const [response] = await once(session.request(head), 'response')
  t.equal(response['grpc-status'], String(status.UNAUTHENTICATED), 'before a message has arrived')
})

/** A connection whose streams the test writes byte by byte. */
const rawSession = (t: Test, socketPath: string) => {
  const session = connectHttp2('http://localhost', { createConnection: () => connect(socketPath) })
  t.teardown(() => session.destroy())
  const open = (path: string, headers: Readonly<Record<string, string>> = {}) => {
    const base = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' }
    const stream = session.request({ ...base, ...headers })
    stream.on('error', () => {})
    return stream
  }
  return open
}

/** A gRPC frame that announces `length` bytes. */
const frame = (message: Buffer, length = message.length): Buffer => {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(length, 1)
  return Buffer.concat([head, message])
}

t.test('a tenant may have few slow messages; further ones are UNAVAILABLE', async (t) => {
  const { socketPath, key, call } = await start(t, { slowBodies: { max: 2, afterMs: 50 } })
  const open = rawSession(t, socketPath)
  const ends: string[] = []
  const enough = Promise.withResolvers<void>()
  for (let index = 0; index < 5; index++) {
    const stream = open('/sidevault.v1.Tokens/Create', { 'svc-api-key': key })
    stream.on('response', (headers) => {
      ends.push(String(headers['grpc-status']))
      if (ends.length === 3) enough.resolve()
    })
    stream.write(frame(Buffer.alloc(10), 1000))
  }
  await enough.promise
  t.same(ends, Array(3).fill(String(status.DEADLINE_EXCEEDED)))
  t.equal((await call('Tokens.Get', { id: 'none' })).code, status.NOT_FOUND, 'complete ones are served')
})

/** A reflection request for the file of a service. */
const FILE_REQUEST = Buffer.concat([Buffer.from([0x22, 19]), Buffer.from('sidevault.v1.Tokens')])
const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo'

t.test('reflection reads no further requests while its responses are not read', async (t) => {
  let read = 0
  const { socketPath, call } = await start(t, {
    admit: ({ pages }) => {
      if (pages) read++
    },
  })
  const stream = rawSession(t, socketPath)(REFLECTION)
  stream.write(frame(FILE_REQUEST))
  await once(stream, 'response')
  stream.pause()
  for (let index = 1; index < 1_000; index++) stream.write(frame(FILE_REQUEST))
  for (let index = 0; index < 20; index++) await call('Tokens.Get', { id: 'none' })
  t.ok(read < 100, `${read} were read`)
  stream.resume()
  stream.end()
  await once(stream, 'end')
  t.equal(read, 1_000, 'all get their response in the end')
})

t.test('reflection requests count as pages of the service', async (t) => {
  let admitted = 0
  const { socketPath } = await start(t, {
    admit: ({ pages }) => {
      if (pages && ++admitted > 2) throw new AppError('rate_limited', 'Too many calls.', { retryAfter: 1 })
    },
  })
  const stream = rawSession(t, socketPath)(REFLECTION)
  const trailers = once(stream, 'trailers')
  stream.resume()
  for (let index = 0; index < 4; index++) stream.write(frame(FILE_REQUEST))
  t.equal((await trailers)[0]['grpc-status'], String(status.RESOURCE_EXHAUSTED))
  t.equal(admitted, 3)
})

t.test('each call is logged and counted, as over HTTP', async (t) => {
  const log: string[] = []
  const { call, service } = await start(t, { log })
  await call('Tokens.Create', { data: 'secret value' }, { metadata: { 'svc-trace-id': 'traced' } })
  await call('Tokens.Get', { id: 'none' })
  const lines = log.map((line) => JSON.parse(line))
  t.match(lines, [
    {
      msg: 'response sent',
      operation: 'Tokens.Create',
      transport: 'grpc',
      status: 201,
      grpc_status: 0,
      trace_id: 'traced',
      tenant_id: service.tenantId,
      actor_id: String,
      ms: Number,
    },
    { msg: 'response sent', operation: 'Tokens.Get', status: 404, grpc_status: 5, code: 'token_not_found' },
  ])
  t.notMatch(log.join(''), /secret value|key_/)
  const counts = await service.metrics.registry.getSingleMetricAsString('sidevault_requests_total')
  t.match(counts, /operation="Tokens.Get",status="404"\} 1/)
})

t.test('unknown methods and unreadable messages are logged and counted too', async (t) => {
  const log: string[] = []
  const { socketPath, service, key } = await start(t, { log, messageLimit: 1000 })
  const session = connectHttp2('http://localhost', { createConnection: () => connect(socketPath) })
  t.teardown(() => session.destroy())
  const frame = (bytes: Buffer, { compressed = 0, length = bytes.length } = {}) => {
    const head = Buffer.alloc(5)
    head.writeUInt8(compressed)
    head.writeUInt32BE(length, 1)
    return Buffer.concat([head, bytes])
  }
  const send = async (path: string, body: Buffer, headers: object = {}) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      'svc-api-key': key,
      'svc-trace-id': 'sent',
      ...headers,
    })
    stream.on('error', () => {})
    stream.end(body)
    const [response] = await once(stream, 'response')
    t.equal(response['svc-trace-id'], 'sent')
    return Number(response['grpc-status'])
  }
  const create = '/sidevault.v1.Tokens/Create'
  const cases: readonly (readonly [string, number, () => Promise<number>])[] = [
    ['unmatched', 404, () => send('/sidevault.v1.Tokens/Steal', frame(Buffer.alloc(0)))],
    ['unmatched', 404, () => send('/nothing', Buffer.alloc(0))],
    ['Tokens.Create', 400, () => send(create, frame(Buffer.from([0x0a, 0x7f])))],
    ['Tokens.Create', 400, () => send(create, Buffer.alloc(0))],
    [
      'Tokens.Create',
      400,
      () => send(create, frame(Buffer.from('x'), { compressed: 1 }), { 'grpc-encoding': 'gzip' }),
    ],
    [
      'Tokens.Create',
      400,
      () => send(create, frame(Buffer.from('x'), { compressed: 1 }), { 'grpc-encoding': 'odd' }),
    ],
    ['Tokens.Create', 400, () => send(create, frame(Buffer.alloc(0)), { 'grpc-timeout': 'soon' })],
    ['Tokens.Create', 413, () => send(create, frame(Buffer.from('x'), { length: 2 ** 30 }))],
  ]
  for (const [operation, wanted, run] of cases) {
    log.length = 0
    const code = await run()
    const [line, ...more] = log.map((text) => JSON.parse(text))
    t.match(line, { operation, transport: 'grpc', status: wanted, grpc_status: code, trace_id: 'sent' })
    t.strictSame(more, [])
  }
  t.equal(await send('/nothing', Buffer.alloc(0)), status.UNIMPLEMENTED)
  const counts = await service.metrics.registry.getSingleMetricAsString('sidevault_requests_total')
  t.match(counts, /operation="unmatched",status="404"\} 3/)
  t.notMatch(counts, /Steal|nothing/)
})

const check = (client: Client, name: string) =>
  promisify((done: (error: Error | null, value?: { status: string }) => void) =>
    client.makeUnaryRequest(
      '/grpc.health.v1.Health/Check',
      healthService.Check!.requestSerialize as never,
      healthService.Check!.responseDeserialize as never,
      { service: name },
      done as never,
    ),
  )()

t.test('health follows the components, and watchers are notified when the service stops', async (t) => {
  const service = await startTestService(t, { openStore: openInThread })
  const { kernel, metrics } = service
  const socketPath = join(service.directory, 'grpc.sock')
  let broken = false
  const checks = {
    part: async () => {
      if (broken) throw new Error('broken')
    },
  }
  const log = createLog('test', 'silent')
  const grpc = await startGrpc({ kernel, metrics, log, checks }, { socketPath, healthInterval: 10 })
  const client = new Client(`unix:${socketPath}`, credentials.createInsecure())
  t.teardown(() => client.close())
  const seen: string[] = []
  const heard = new Map<string, () => void>()
  const until = (wanted: string) =>
    new Promise<void>((resolve) => (seen.at(-1) === wanted ? resolve() : heard.set(wanted, resolve)))
  const watching = client.makeServerStreamRequest(
    '/grpc.health.v1.Health/Watch',
    healthService.Watch!.requestSerialize as never,
    healthService.Watch!.responseDeserialize as never,
    { service: 'sidevault.v1.Tokens' } as never,
    new Metadata(),
  )
  watching.on('data', ({ status }: { status: string }) => {
    seen.push(status)
    heard.get(status)?.()
  })
  const ended = new Promise<number>((resolve) =>
    watching.on('error', ({ code }: { code?: number }) => resolve(code!)),
  )
  await until('SERVING')
  t.equal((await check(client, ''))?.status, 'SERVING')
  await t.rejects(check(client, 'unknown'), { code: status.NOT_FOUND })
  broken = true
  await until('NOT_SERVING')
  t.equal((await check(client, ''))?.status, 'NOT_SERVING')
  broken = false
  await until('SERVING')
  await grpc.close()
  t.equal(await ended, status.UNAVAILABLE)
})

t.test('reflection lists every service, and clients can be built from its files', async (t) => {
  const { socketPath, service } = await start(t)
  const proto = join(
    import.meta.dirname,
    '../../../node_modules/@grpc/reflection/build/proto/grpc/reflection/v1/reflection.proto',
  )
  const reflection = loadSync(proto, { keepCase: true, defaults: false, oneofs: true })
  const definition = reflection['grpc.reflection.v1.ServerReflection'] as unknown as Record<
    string,
    { requestSerialize: never; responseDeserialize: never }
  >
  const { requestSerialize, responseDeserialize } = definition.ServerReflectionInfo!
  const client = new Client(`unix:${socketPath}`, credentials.createInsecure())
  t.teardown(() => client.close())
  type Reply = {
    list_services_response?: { service: { name: string }[] }
    file_descriptor_response?: { file_descriptor_proto: Buffer[] }
    error_response?: { error_code: number }
  }
  const ask = (question: object) =>
    new Promise<Reply>((resolve, reject) => {
      const stream = client.makeBidiStreamRequest(
        '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
        requestSerialize,
        responseDeserialize,
      )
      stream.on('data', resolve)
      stream.on('error', reject)
      stream.write(question)
      stream.end()
    })
  const listed = await ask({ list_services: '' })
  const names = listed.list_services_response?.service.map(({ name }) => name) ?? []
  const declared = service.kernel.registry.operations.map(({ rpc }) => `sidevault.v1.${rpc.split('.')[0]}`)
  t.same(new Set(names), new Set([...declared, 'grpc.health.v1.Health']))
  for (const name of declared) {
    const files = (await ask({ file_containing_symbol: name })).file_descriptor_response
      ?.file_descriptor_proto
    t.ok((files?.length ?? 0) > 0, name)
  }
  const struct = await ask({ file_by_filename: 'google/protobuf/struct.proto' })
  t.equal(struct.file_descriptor_response?.file_descriptor_proto.length, 1)
  const broken = client.makeBidiStreamRequest(
    '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
    (bytes: Buffer) => bytes,
    responseDeserialize,
  )
  broken.write(Buffer.from([0xff, 0xff, 0xff]))
  const [error] = await once(broken, 'error').catch((thrown: unknown) => [thrown])
  t.equal(error.code, status.INVALID_ARGUMENT, 'a request that is none does no harm')
  t.equal((await ask({ file_by_filename: 'nothing.proto' })).error_response?.error_code, status.NOT_FOUND)
})
