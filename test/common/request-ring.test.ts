import t from 'tap'
import { createRequestRing, type ListedRequest } from '../../src/common/request-ring.ts'

const request = (changes: Partial<ListedRequest> = {}): ListedRequest => ({
  traceId: 'trace',
  at: 1,
  kind: 'proxy',
  tenantId: 'a',
  applicationId: undefined,
  proxyId: undefined,
  method: 'POST',
  route: '/proxy',
  host: undefined,
  outcome: 'sent',
  status: undefined,
  destinationStatus: undefined,
  code: undefined,
  durationMs: 1,
  stages: {},
  tokens: 0,
  rules: [],
  requestBytes: undefined,
  responseBytes: undefined,
  ...changes,
})

t.test('the newest calls of a tenant are first, in pages, and the oldest are evicted', async (t) => {
  const ring = createRequestRing('gateway-0', 5)
  for (let at = 1; at <= 8; at++) ring.push(request({ at, tenantId: at % 4 === 0 ? 'b' : 'a' }))
  const at = (requests: readonly ListedRequest[]) => requests.map((request) => request.at)
  t.strictSame(at(ring.newest({ tenantId: 'a', limit: 9 })), [7, 6, 5])
  t.strictSame(at(ring.newest({ tenantId: 'b', limit: 9 })), [8, 4])
  const first = ring.newest({ tenantId: 'a', limit: 2 })
  t.strictSame(at(first), [7, 6])
  t.strictSame(at(ring.newest({ tenantId: 'a', before: first.at(-1), limit: 2 })), [5])
  t.equal(new Set(first.map(({ id }) => id)).size, 2)
  t.match(first[0], { node: 'gateway-0', id: /^gateway-0-/ })
})

t.test('calls of one time are each listed once, in order, also when the clock moves backwards', async (t) => {
  const ring = createRequestRing('admin')
  for (const at of [5, 5, 5, 3, 4]) ring.push(request({ at }))
  const seen: number[] = []
  let before: { readonly at: number; readonly id: string } | undefined
  for (;;) {
    const [newest] = ring.newest({ tenantId: 'a', before, limit: 1 })
    if (newest === undefined) break
    seen.push(newest.at)
    before = newest
  }
  t.strictSame(seen, [5, 5, 5, 5, 5])
})

t.test('calls of unknown tenants are left out', async (t) => {
  const ring = createRequestRing('admin')
  ring.push(request({ tenantId: '' }))
  t.strictSame(ring.newest({ tenantId: '', limit: 9 }), [])
})
