import t from 'tap'
import { failureOf } from '../../src/host-api/outcome.ts'
import type { LimitName } from '../../src/sandbox/types.ts'

type Failure = Parameters<typeof failureOf>[0]

const rest = { console: [], timing: { waited: 0, cpu: 0, wall: 0 } }
const threw = (more: Partial<Extract<Failure, { kind: 'threw' }>> = {}): Failure => ({
  kind: 'threw',
  name: 'TypeError',
  message: 'no 4242424242424242',
  frames: ['reactor:3:7', 'reactor:9:1'],
  ...rest,
  ...more,
})
const limit = (name: LimitName): Failure => ({
  kind: 'limit',
  limit: name,
  message: 'it was too much.',
  ...rest,
})
const unusable: Failure = { kind: 'unusable', message: 'no function, 4242', issues: [], ...rest }

const reported = { name: 'reactor', exposeErrorMessages: true }
const silent = { name: 'reactor', exposeErrorMessages: false }

t.test('an error of code is reported with its place, to those who may read it only', async (t) => {
  const error = failureOf(threw(), reported)
  t.match(error, { code: 'code_failed', status: 400 })
  t.equal(error.message, 'The reactor threw TypeError: no 4242424242424242 (reactor:3:7)')
  for (const failure of [threw(), threw({ status: 403 }), unusable])
    t.notMatch(JSON.stringify(failureOf(failure, silent).toProblem()), '4242')
})

t.test('a custom status is returned; an invalid one is 400', async (t) => {
  for (const status of [200, 401, 402, 403, 404, 429, 500, 599])
    t.equal(failureOf(threw({ status }), reported).status, status)
  for (const status of [0, 99, 101, 199, 600, 400.5, Number.NaN, -1])
    t.equal(failureOf(threw({ status }), reported).status, 400)
  t.match(failureOf(threw({ status: 403 }), reported), { code: 'code_failed' }, 'it is no denial of ours')
})

t.test('an error has the gRPC code of its HTTP status', async (t) => {
  for (const [status, grpc] of [
    [400, 9],
    [401, 16],
    [403, 7],
    [404, 5],
    [429, 8],
    [500, 13],
    [418, 9],
  ] as const)
    t.equal(failureOf(threw({ status }), reported).grpc, grpc, `${status}`)
})

t.test('connection headers and invalid headers are not returned', async (t) => {
  const headers = {
    'X-Kept': 'a',
    'content-type': 'text/html',
    'Content-Length': '1',
    'content-encoding': 'gzip',
    'transfer-encoding': 'chunked',
    connection: 'close',
    'proxy-authenticate': 'x',
    ':status': '200',
    'bad name': 'x',
    split: 'a\r\nset-cookie: b',
    nul: 'a\0',
  }
  const { response } = failureOf(threw({ status: 418, headers, body: { short: true } }), reported)
  t.strictSame(response, {
    status: 418,
    headers: { 'X-Kept': 'a', 'content-type': 'text/html' },
    body: { short: true },
  })
})

t.test("an error of code sets no header of the service's own", async (t) => {
  const headers = {
    'X-Kept': 'a',
    'retry-after': '1',
    'svc-trace-id': 'forged',
    'SVC-Proxy-Destination-Status': '200',
    'bt-anything': 'x',
    'x-envoy-upstream-service-time': '1',
    'X-Sidevault-Reason': 'x',
    Server: 'x',
    'x-forwarded-proto': 'http',
  }
  const failure = threw({ status: 418, headers, body: 1 })
  const { response } = failureOf(failure, { ...reported, headerPrefixes: ['SVC', 'bt'] })
  t.strictSame(response?.headers, { 'X-Kept': 'a', 'retry-after': '1' })
})

t.test('an error with too many headers is an error of the code', async (t) => {
  const many = (count: number, value: string) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`h${i}`, value]))
  const allowed = failureOf(threw({ status: 418, headers: many(100, 'v') }), reported)
  t.equal(Object.keys(allowed.response?.headers ?? {}).length, 100)
  for (const headers of [many(101, 'v'), many(4, 'v'.repeat(9_000))]) {
    const error = failureOf(threw({ status: 418, headers, body: 1 }), silent)
    t.match(error, { code: 'code_failed', status: 400, message: /100 headers.*32 KiB/ })
    t.equal(error.response, undefined)
  }
})

t.test('exceeded limits are errors of the code, except those of the service', async (t) => {
  for (const name of ['cpu', 'wall', 'memory', 'argument', 'result', 'host_calls', 'crash'] as const)
    t.match(failureOf(limit(name), silent), {
      code: 'code_failed',
      message: /reactor was stopped: it was too much/,
    })
  for (const name of ['overload', 'interrupted'] as const)
    t.match(failureOf(limit(name), silent), { code: 'overloaded', status: 503, retryAfter: 1 })
  t.match(failureOf(limit('quarantine'), silent), { code: 'unprocessable', status: 422 })
  t.match(failureOf(limit('cancelled'), silent), { code: 'gateway_timeout' })
  t.match(failureOf(unusable, reported), { status: 422, message: /no function/ })
})
