import t from 'tap'
import { type Failure, failureOf } from '../../src/host-api/outcome.ts'
import type { LimitName } from '../../src/sandbox/types.ts'

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

t.test('exceeded limits are errors of the code, except those of the service', async (t) => {
  for (const name of ['cpu', 'wall', 'memory', 'argument', 'result', 'host_calls', 'crash'] as const)
    t.match(failureOf(limit(name), silent), {
      code: 'code_failed',
      message: /reactor was stopped: it was too much/,
    })
  t.match(failureOf(limit('overload'), silent), { code: 'overloaded', status: 503, retryAfter: 1 })
  t.match(failureOf(limit('quarantine'), silent), { code: 'unprocessable', status: 422 })
  t.match(failureOf(limit('cancelled'), silent), { code: 'gateway_timeout' })
  t.match(failureOf(unusable, reported), { status: 422, message: /no function/ })
})
