import t from 'tap'
import { hasFailed, matchesFilter, type RequestFilter } from '../../src/common/request-filter.ts'
import type { ListedRequest } from '../../src/common/request-ring.ts'

const answered = (changes: Partial<ListedRequest> = {}): ListedRequest => ({
  traceId: 'trace',
  at: 5,
  kind: 'proxy',
  tenantId: 'tenant',
  applicationId: 'a1',
  proxyId: undefined,
  method: 'POST',
  route: '/proxy',
  host: 'pay.example',
  outcome: 'answered',
  complete: true,
  status: 200,
  destinationStatus: 200,
  code: undefined,
  durationMs: 1,
  stages: {},
  tokens: 0,
  rules: [],
  requestBytes: undefined,
  responseBytes: undefined,
  ...changes,
})

const NONE = { status: undefined, destinationStatus: undefined, complete: undefined }
const CALLS = {
  answered: answered(),
  'its 404': answered({ status: 404, destinationStatus: 404 }),
  'its 500': answered({ status: 500, destinationStatus: 500 }),
  'its 502, made a 200': answered({ destinationStatus: 502 }),
  'cut off': answered({ complete: false }),
  rejected: answered({ ...NONE, outcome: 'not_sent', status: 403 }),
  'not sent': answered({ ...NONE, outcome: 'not_sent', status: 502 }),
  'gone before': answered({ ...NONE, outcome: 'not_sent' }),
  unknown: answered({ ...NONE, outcome: 'unknown', status: 408 }),
  sent: answered({ ...NONE, outcome: 'sent' }),
  'dry run': answered({ ...NONE, outcome: 'dry_run', status: 200 }),
  'of the API': answered({ ...NONE, outcome: 'responded', status: 200, kind: 'api', host: undefined }),
  'denied by the API': answered({ ...NONE, outcome: 'responded', status: 404, kind: 'api' }),
}

const names = (matches: (call: ListedRequest) => boolean) =>
  Object.entries(CALLS).flatMap(([name, call]) => (matches(call) ? [name] : []))
const matching = (filter: RequestFilter) => names((call) => matchesFilter(call, filter))

t.test('a call has failed unless its caller got a complete response of the destination', async (t) => {
  const failed = ['its 500', 'cut off', 'rejected', 'not sent', 'gone before', 'unknown', 'denied by the API']
  t.same(names(hasFailed), failed)
  t.same(matching({ outcome: 'failed' }), failed)
  t.same(matching({ outcome: 'rejected' }), ['rejected', 'denied by the API'])
  t.same(matching({ outcome: 'cut_off' }), ['cut off'])
  t.same(matching({ outcome: 'not_sent' }), ['rejected', 'not sent', 'gone before'], 'as calls have it')
  t.same(matching({ outcome: 'sent' }), ['sent'])
})

t.test('a status is that of the response, or of the destination', async (t) => {
  t.same(matching({ status: [404, 404] }), ['its 404', 'denied by the API'])
  t.same(matching({ status: [500, 599] }), ['its 500', 'its 502, made a 200', 'not sent'])
})

t.test('members of a filter hold together, and an empty one matches all', async (t) => {
  t.equal(matching({}).length, Object.keys(CALLS).length)
  t.same(matching({ kind: 'api', outcome: 'failed' }), ['denied by the API'])
  const call = answered()
  const isShown = (filter: RequestFilter, of = call) => matchesFilter(of, filter)
  t.ok(isShown({ applicationId: 'a1', host: 'pay.example', traceId: 'trace', from: 5, to: 6 }))
  for (const filter of [
    { applicationId: 'a2' },
    { host: 'pay.example.attacker.test' },
    { traceId: 'trac' },
    { from: 6 },
    { to: 5 },
  ])
    t.notOk(isShown(filter), JSON.stringify(filter))
})

t.test("the console's own calls match only when asked for", async (t) => {
  const own = answered({ kind: 'api', isConsole: true })
  t.notOk(matchesFilter(own, {}))
  t.notOk(matchesFilter(own, { console: false }))
  t.ok(matchesFilter(own, { console: true }))
})
