import t from 'tap'
import { createRequestRing, type ListedRequest, mergeRequests } from '../../src/common/request-ring.ts'

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
  t.strictSame(at(ring.list({ tenantId: 'a', limit: 9 })), [7, 6, 5])
  t.strictSame(at(ring.list({ tenantId: 'b', limit: 9 })), [8, 4])
  const first = ring.list({ tenantId: 'a', limit: 2 })
  t.strictSame(at(first), [7, 6])
  const before = { rank: 6, id: first.at(-1)?.id ?? '' }
  t.strictSame(at(ring.list({ tenantId: 'a', before, limit: 2 })), [5])
  t.equal(new Set(first.map(({ id }) => id)).size, 2)
  t.match(first[0], { node: 'gateway-0', id: /^gateway-0-/ })
})

t.test('calls of one time are each listed once, in order, also when the clock moves backwards', async (t) => {
  const ring = createRequestRing('admin')
  for (const at of [5, 5, 5, 3, 4]) ring.push(request({ at }))
  const seen: number[] = []
  let before: { readonly rank: number; readonly id: string } | undefined
  for (;;) {
    const [newest] = ring.list({ tenantId: 'a', before, limit: 1 })
    if (newest === undefined) break
    seen.push(newest.at)
    before = { rank: newest.at, id: newest.id }
  }
  t.strictSame(seen, [5, 5, 5, 5, 5])
})

t.test('calls of unknown tenants are left out', async (t) => {
  const ring = createRequestRing('admin')
  ring.push(request({ tenantId: '' }))
  t.strictSame(ring.list({ tenantId: '', limit: 9 }), [])
})

t.test('a page with a filter is full wherever its calls are, and an id is that of one call', async (t) => {
  const ring = createRequestRing('admin', 100)
  for (let at = 1; at <= 150; at++) ring.push(request({ at, host: at % 10 === 0 ? 'far.test' : 'near.test' }))
  const filter = { host: 'far.test' }
  const [first, last] = ring.list({ tenantId: 'a', filter, limit: 2 })
  t.match([first?.at, last?.at], [150, 140])
  const before = { rank: 140, id: last?.id ?? '' }
  const rest = ring.list({ tenantId: 'a', filter, before, limit: 100 })
  t.strictSame(
    rest.map(({ at }) => at),
    [130, 120, 110, 100, 90, 80, 70, 60],
    'to the end of what is retained',
  )
  t.strictSame(ring.list({ tenantId: 'a', id: last?.id, limit: 9 }), [last])
  t.strictSame(ring.list({ tenantId: 'b', id: last?.id, limit: 9 }), [], 'of another tenant')
})

t.test('slowest calls of several processes are in one order, in pages', async (t) => {
  const rings = [createRequestRing('gateway-0'), createRequestRing('gateway-1')]
  for (const [index, durationMs] of [5, 0.25, 7, 7, 3, 9.5].entries())
    rings[index % 2]?.push(request({ at: index, durationMs }))
  const page = (before: { readonly rank: number; readonly id: string } | undefined) => {
    const query = { tenantId: 'a', sort: 'slowest', before, limit: 2 } as const
    return mergeRequests(
      rings.map((ring) => ring.list(query)),
      query,
    )
  }
  const seen: number[] = []
  let requests = page(undefined)
  while (requests.length > 0) {
    seen.push(...requests.map(({ durationMs }) => durationMs))
    const { durationMs: rank = 0, id = '' } = requests.at(-1) ?? {}
    requests = page({ rank, id })
  }
  t.strictSame(seen, [9.5, 7, 7, 5, 3, 0.25])
})
