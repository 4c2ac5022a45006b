import t from 'tap'
import type { AuditRecord } from '../../src/audit/types.ts'
import { AppError } from '../../src/common/errors.ts'
import type { Log } from '../../src/common/log.ts'
import { createAdmission } from '../../src/gateway/admission.ts'
import type { ExchangeDeps, ExchangeOptions } from '../../src/gateway/exchange-deps.ts'
import type { Head } from '../../src/gateway/headers.ts'
import { OpenCalls } from '../../src/gateway/open-calls.ts'
import type { BodyStream, ExtProcReply } from '../../src/gateway/types.ts'
import type { StoredProxy } from '../../src/sdk/index.ts'
import { createFarSide, exchangesOf, KEYS, silentLog, TOKENS } from '../kit/egress.ts'

const head = (headers: Record<string, string> = {}): Head =>
  new Map(
    Object.entries({
      ':method': 'POST',
      ':path': '/proxy/secret-path?secret-query',
      ':authority': 'vault.test',
      ':scheme': 'https',
      'svc-api-key': KEYS.private,
      'svc-proxy-url': 'https://secret-host.test/secret-base',
      'content-type': 'text/plain',
      ...headers,
    }).map(([name, value]) => [name, [value]]),
  )

const setUp = (deps: Partial<ExchangeDeps> = {}, options: Partial<ExchangeOptions> = {}) => {
  const far = createFarSide()
  const calls = new OpenCalls(0, { ...far.deps, ...deps })
  const exchange = exchangesOf(far, { calls, ...deps }, options)()
  return { far, exchange, calls }
}

const problemOf = (response: ExtProcReply) => {
  if (response.kind !== 'immediateResponse') throw new Error(`not a reply but "${response.kind}"`)
  const { proxy_error } = JSON.parse(response.reply.body.toString())
  return { ...proxy_error, headers: response.reply.headers }
}

t.test('a request with a body waits at its headers, and continues with the body', async (t) => {
  const { exchange, far } = setUp()
  const held = await exchange.onRequestHeaders(head({ 'svc-trace-id': 'trace' }), false)
  t.equal(held.kind, 'buffered')
  const released = await exchange.onRequestBody(Buffer.from('a {{ name | raw }}'))
  t.match(released, { kind: 'continue', upstream: 'https', prefix: 'svc' })
  if (released.kind !== 'continue') return
  t.equal(released.body?.toString(), `a ${TOKENS.name?.data}`)
  t.equal(released.edits.set.get('content-length'), String(released.body?.length))
  t.equal(far.uses[0]?.context.traceId, 'trace')
  t.equal(far.uses[0]?.context.caller.applicationId, 'private')
})

t.test('a request without a body continues at its headers', async (t) => {
  const { exchange } = setUp()
  const released = await exchange.onRequestHeaders(head(), true)
  t.equal(released.kind, 'continue')
  if (released.kind === 'continue')
    t.equal(released.edits.set.get(':path'), '/secret-base/secret-path?secret-query')
})

t.test('a body without accepted headers never continues', async (t) => {
  const { exchange } = setUp()
  t.throws(() => exchange.onRequestBody(Buffer.from('x')), 'the stream is then reset')
  const rejected = setUp().exchange
  await rejected.onRequestHeaders(head({ 'svc-api-key': 'unknown' }), false)
  t.equal(problemOf(await rejected.onRequestBody(Buffer.from('x'))).status, 500)
})

t.test('requests that Envoy should have rejected are rejected here as well', async (t) => {
  t.equal(
    problemOf(await setUp().exchange.onRequestHeaders(head({ ':method': 'CONNECT' }), true)).status,
    405,
  )
  t.equal(problemOf(await setUp().exchange.onRequestHeaders(head({ ':path': '/tokens' }), true)).status, 500)
  t.equal(
    problemOf(await setUp().exchange.onRequestHeaders(head({ ':path': '/proxyfoo' }), true)).status,
    500,
  )
  t.equal(
    problemOf(await setUp().exchange.onRequestHeaders(head({ 'content-length': '1001' }), false)).status,
    413,
  )
})

t.test('a denied call is recorded, one with an unknown key has no tenant', async (t) => {
  const records: AuditRecord[] = []
  const audit = async (more: readonly AuditRecord[]) => {
    records.push(...more)
  }
  await setUp({ audit }).exchange.onRequestHeaders(
    head({ 'svc-api-key': KEYS.idle, 'svc-trace-id': 'trace' }),
    true,
  )
  t.match(records, [
    { tenant_id: 'tenant', entity_type: 'proxy', operation: 'use', actor_id: 'idle', trace_id: 'trace' },
  ])
  await setUp({ audit }).exchange.onRequestHeaders(head({ 'svc-api-key': 'unknown' }), true)
  t.equal(records.length, 1)
  const failing = setUp({ audit: () => Promise.reject(new Error('disk')) })
  t.equal(
    problemOf(await failing.exchange.onRequestHeaders(head({ 'svc-api-key': KEYS.idle }), true)).status,
    403,
  )
})

t.test('a slow or abandoned request ends as 504', async (t) => {
  const slow = setUp({}, { stepMs: 20 })
  await slow.exchange.onRequestHeaders(head(), false)
  t.equal(problemOf(await slow.exchange.onRequestBody(Buffer.from('{{ slow }}'))).status, 504)
  const left = setUp()
  await left.exchange.onRequestHeaders(head(), false)
  const response = left.exchange.onRequestBody(Buffer.from('{{ slow }}'))
  left.exchange.cancel()
  t.equal(problemOf(await response).status, 504)
})

t.test('above the admission limits the response is 503 with Retry-After', async (t) => {
  const { exchange } = setUp({ admission: createAdmission({ running: 0, bytes: 0 }) })
  const problem = problemOf(await exchange.onRequestHeaders(head(), true))
  t.equal(problem.status, 503)
  t.equal(problem.headers.get('retry-after'), '1')
})

t.test(
  'log lines name no path, query, key, header, token id or value, and a host for errors only',
  async (t) => {
    const lines: unknown[] = []
    const log = { ...silentLog() } as Record<string, unknown>
    for (const level of ['info', 'warn', 'error'])
      log[level] = (fields: Record<string, unknown>, message: string) => {
        const { err, ...rest } = fields
        lines.push({ ...rest, err: err === undefined ? undefined : 'an error', message })
      }
    for (const body of ['{{ name | raw }}', '{{ down }}', '{{ unknown-secret }}', '{{ denied }}']) {
      const { exchange, calls } = setUp({ log: log as unknown as Log })
      await exchange.onRequestHeaders(head({ 'x-secret': 'secret-header' }), false)
      await exchange.onRequestBody(Buffer.from(`secret-body ${body}`))
      calls.close()
    }
    t.equal(lines.length, 4)
    t.notMatch(
      JSON.stringify(lines).replaceAll('"secret-host.test"', ''),
      /secret|key_private|Lovelace|42424242|denied"/,
    )
    t.same(
      lines.map((line) => (line as { host?: string }).host),
      [undefined, 'secret-host.test', 'secret-host.test', 'secret-host.test'],
    )
    t.match(lines[0], { operation: 'proxy', outcome: 'unknown', tokens: 1, tenant_id: 'tenant' })
    t.match(lines[2], { operation: 'proxy', status: 400, code: 'invalid_expression' })
  },
)

const PROXY: StoredProxy = {
  id: 'proxy-id',
  tenantId: 'tenant',
  destinationUrl: 'https://stored.test/base',
  requireAuth: true,
  configuration: { a: 1 },
}
const JSON_HEAD = { 'svc-proxy-key': 'proxy', 'content-type': 'application/json' }
const IDENTITY = 'module.exports = ({ args: { body, headers } }) => ({ body, headers })'

const setUpStored = (more: Partial<StoredProxy>, deps: Partial<ExchangeDeps> = {}) => {
  const made = setUp(deps)
  made.far.proxies.set('proxy', { ...PROXY, ...more })
  return made
}

t.test('a call of a stored proxy that cannot be recorded is not made', async (t) => {
  const audit = () => Promise.reject(new AppError('gateway_timeout', 'The journal is full.'))
  t.equal(
    problemOf(await setUpStored({}, { audit }).exchange.onRequestHeaders(head(JSON_HEAD), true)).status,
    504,
  )
  let ran = false
  const code = { run: async () => (ran = true) }
  const { exchange } = setUpStored({ requestTransform: IDENTITY }, { audit, code })
  t.equal((await exchange.onRequestHeaders(head(JSON_HEAD), false)).kind, 'buffered')
  t.equal(problemOf(await exchange.onRequestBody(Buffer.from('{"a":"{{ name }}"}'))).status, 504)
  t.equal(ran, false, 'nor does its code run')
})

t.test('a call is recorded with its body, in the turn in which its tokens are recorded', async (t) => {
  const events: string[] = []
  const audit = async (records: readonly AuditRecord[]) => {
    events.push(...records.map(({ message }) => message))
    setImmediate(() => events.push('the turn is over'))
  }
  const { exchange, far } = setUpStored({}, { audit })
  const { vault } = far.deps
  const use: typeof vault.use = (...args) => {
    events.push('tokens used')
    return vault.use(...args)
  }
  const watched = () => setUpStored({}, { audit, vault: { ...vault, use } }).exchange
  t.equal((await exchange.onRequestHeaders(head(JSON_HEAD), false)).kind, 'buffered')
  exchange.cancel()
  t.strictSame(events, [], 'without its body it is no call')
  // Work of more than 10 ms continues in another turn: on a slow machine a call may be such work.
  for (let call = 0; call < 20 && events[1] !== 'tokens used'; call++) {
    events.length = 0
    const made = watched()
    await made.onRequestHeaders(head(JSON_HEAD), false)
    t.equal((await made.onRequestBody(Buffer.from('{"a":"{{ name }}"}'))).kind, 'continue')
  }
  t.strictSame(events.slice(0, 2), ['Proxy used', 'tokens used'])
})

t.test('transforms of a tenant above its share of code get 429, other calls work', async (t) => {
  const codeAdmission = createAdmission({ running: 2, bytes: 0 })
  const { promise, resolve } = Promise.withResolvers<void>()
  const sleeping = codeAdmission.run(0, () => promise, 'tenant')
  const full = { codeAdmission }
  t.equal((await setUpStored({}, full).exchange.onRequestHeaders(head(JSON_HEAD), true)).kind, 'continue')
  const transformed = setUpStored({ requestTransform: IDENTITY }, full)
  t.equal(problemOf(await transformed.exchange.onRequestHeaders(head(JSON_HEAD), true)).status, 429)
  t.equal(transformed.far.runs.length, 0)
  resolve()
  await sleeping
  t.equal((await transformed.exchange.onRequestHeaders(head(JSON_HEAD), true)).kind, 'continue')
})

t.test('only a proxy with a response transform requests the response', async (t) => {
  t.notOk(
    ((await setUp().exchange.onRequestHeaders(head(), false)) as { modeOverride?: string }).modeOverride,
  )
  t.match(await setUpStored({}).exchange.onRequestHeaders(head(JSON_HEAD), false), {
    kind: 'buffered',
    modeOverride: undefined,
  })
  const { exchange } = setUpStored({ responseTransform: IDENTITY })
  t.match(await exchange.onRequestHeaders(head(JSON_HEAD), false), {
    kind: 'buffered',
    modeOverride: 'responseBody',
  })
  t.match(await exchange.onRequestBody(Buffer.from('{}')), { kind: 'continue', modeOverride: 'responseBody' })
  const passing = setUpStored({ responseTransform: IDENTITY, responseOtherwise: 'pass' }).exchange
  t.match(await passing.onRequestHeaders(head(JSON_HEAD), false), {
    kind: 'buffered',
    modeOverride: 'responseHeaders',
  })
})

const responseHead = (more: Record<string, string> = {}): Head =>
  new Map(
    Object.entries({
      ':status': '200',
      'svc-proxy-destination-status': '200',
      'content-type': 'application/json',
      ...more,
    }).map(([name, value]) => [name, [value]]),
  )

const responded = async (more: Partial<StoredProxy> = { responseTransform: IDENTITY }) => {
  const made = setUpStored(more)
  await made.exchange.onRequestHeaders(head(JSON_HEAD), true)
  return made
}

t.test('a local reply of Envoy, or a response that is too large, is never buffered', async (t) => {
  const own = await responded()
  const local = new Map([...responseHead()].filter(([name]) => !name.startsWith('svc-')))
  t.same(await own.exchange.onResponseHeaders(local, false), { kind: 'continueResponse' })
  const large = await responded()
  const problem = problemOf(
    await large.exchange.onResponseHeaders(responseHead({ 'content-length': '1001' }), false),
  )
  t.equal(problem.status, 502)
  t.equal(problem.headers.get('svc-proxy-destination-status'), '200')
})

t.test('a response that was not requested changes nothing', async (t) => {
  const { exchange } = await responded()
  t.equal(problemOf(await exchange.onResponseBody(Buffer.from('{"card":4242}'))).status, 500)
})

t.test('a caller who disconnects aborts the running code', async (t) => {
  const hang = 'module.exports = () => new Promise((resolve) => signal.addEventListener("abort", resolve))'
  const early = setUpStored({ requestTransform: hang })
  await early.exchange.onRequestHeaders(head(JSON_HEAD), false)
  const waiting = early.exchange.onRequestBody(Buffer.from('{}'))
  while (early.far.runs.length === 0) await new Promise((resolve) => setImmediate(resolve))
  early.exchange.cancel()
  t.equal(problemOf(await waiting).status, 504)
  t.ok(early.far.runs[0]?.signal.aborted)
  const late = await responded({ responseTransform: hang })
  await late.exchange.onResponseHeaders(responseHead(), false)
  const response = late.exchange.onResponseBody(Buffer.from('{}'))
  while (late.far.runs.length === 0) await new Promise((resolve) => setImmediate(resolve))
  late.exchange.cancel()
  t.equal(problemOf(await response).status, 504)
  t.ok(late.far.runs[0]?.signal.aborted)
})

t.test('code gets its tenant, its configuration, its application and the trace id', async (t) => {
  const { exchange, far } = setUpStored({ requestTransform: IDENTITY, applicationId: 'private' })
  await exchange.onRequestHeaders(head({ ...JSON_HEAD, 'svc-trace-id': 'trace' }), true)
  t.match(far.runs, [
    {
      tenantId: 'tenant',
      name: 'request_transform',
      applicationId: 'private',
      traceId: 'trace',
      exposeErrorMessages: true,
      argument: { configuration: { a: 1 }, args: { path: '/secret-path', query: '?secret-query' } },
    },
  ])
})

t.test('a call that its caller gives up is not sent before its release, and unknown after it', async (t) => {
  const lines: { outcome: string }[] = []
  const log = { ...silentLog(), info: (line: { outcome: string }) => lines.push(line) } as unknown as Log
  const waiting = setUpStored({}, { log })
  await waiting.exchange.onRequestHeaders(head(JSON_HEAD), false)
  waiting.exchange.cancel()
  waiting.calls.close()
  t.match(lines, [{ outcome: 'not_sent', proxy_id: 'proxy-id' }])
  const released = setUpStored({ responseTransform: IDENTITY }, { log })
  await released.exchange.onRequestHeaders(head(JSON_HEAD), true)
  released.exchange.cancel()
  t.equal(lines.length, 1, 'its end is not known yet')
  released.calls.close()
  t.match(lines[1], { outcome: 'unknown', proxy_id: 'proxy-id' })
})

t.test('a key deleted before a slow body arrives releases no request', async (t) => {
  for (const [ms, kind] of [
    [1_000, 'continue'],
    [1_001, 'immediateResponse'],
  ] as const) {
    let now = 0
    let deleted = false
    const { authenticator } = createFarSide().deps
    const { exchange, far } = setUp({
      clock: { now: () => -now }, // set back in between
      steadyClock: { now: () => now },
      authenticator: {
        ...authenticator,
        authenticate: (key) => authenticator.authenticate(deleted ? undefined : key),
      },
    })
    await exchange.onRequestHeaders(head(), false)
    now = ms
    deleted = true
    const response = await exchange.onRequestBody(Buffer.from('{{ name | raw }}'))
    t.equal(response.kind, kind)
    t.equal(far.uses.length, kind === 'continue' ? 1 : 0)
    if (kind === 'immediateResponse') t.equal(problemOf(response).status, 401)
  }
})

t.test('a key deleted in the middle of a body releases no further value', async (t) => {
  let deleted = false
  const { authenticator } = createFarSide().deps
  const { exchange, far } = setUp({
    dial: async (_host, port) => `192.0.2.1:${port}`,
    authenticator: {
      ...authenticator,
      authenticate: (key) => authenticator.authenticate(deleted ? undefined : key),
    },
  })
  // An expression is read once all that it could be is there.
  const fill = 'x'.repeat(2_000)
  const went: ExtProcReply[] = []
  const flow: BodyStream = {
    read: async () => {
      deleted = went.length > 1
      return { bytes: Buffer.from(`{{ name | raw }}${fill}`), isLast: false }
    },
    write: async (response) => {
      went.push(response)
    },
    end: () => Promise.reject(new Error('a body that is broken off has no end')),
  }
  await exchange.onStreamedRequest(head(), false, flow)
  const body = Buffer.from(`${TOKENS.name?.data}${fill}`)
  t.match(went, [
    { kind: 'continue' },
    { kind: 'streamed', body, isLast: false },
    { kind: 'immediateResponse' },
  ])
  t.equal(problemOf(went[2] as ExtProcReply).status, 401)
  t.equal(far.uses.length, 1)
})

t.test("a call is listed in its tenant's newest calls, without path, query, body and headers", async (t) => {
  const { exchange, far } = setUp()
  const { metrics } = far.deps
  await exchange.onRequestHeaders(head({ 'svc-trace-id': 'trace', 'x-secret': 'secret-header' }), false)
  const body = Buffer.from('secret-body {{ name | raw }}')
  await exchange.onRequestBody(body)
  const denied = setUp({ metrics })
  await denied.exchange.onRequestHeaders(head({ 'svc-proxy-url': 'https://127.0.0.1/' }), true)
  const unknown = setUp({ metrics })
  await unknown.exchange.onRequestHeaders(head({ 'svc-api-key': 'unknown' }), true)
  const { tenantId } = far.uses[0]!.context.caller
  const found = metrics.recent.list({ tenantId, limit: 10 })
  t.match(found, [
    { outcome: 'not_sent', status: 403, code: 'destination_not_allowed', tokens: 0 },
    {
      kind: 'proxy',
      traceId: 'trace',
      applicationId: 'private',
      method: 'POST',
      route: '/proxy',
      host: 'secret-host.test',
      outcome: 'sent',
      status: undefined,
      tokens: 1,
      requestBytes: body.length,
      stages: { authenticate: Number, plan: Number, use: Number, apply: Number },
    },
  ])
  t.equal(found.length, 2, 'a call of an unknown key is not the tenant’s')
  t.notMatch(JSON.stringify(found), /secret-(path|query|base|header|body)/)
})
