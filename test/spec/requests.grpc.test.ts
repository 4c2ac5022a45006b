import t from 'tap'
import type { ListedRequest } from '../../src/common/request-ring.ts'
import { startApi } from './api.ts'

const api = await startApi(t)
/** Each call is itself in the next list, so that lists are not compared with those of the other transport. */
const list = async (query = '', key = api.management) =>
  (await api.call('GET', `/requests${query}`, { key, once: true })).body
const SECRET = 'hunter2-hunter2'

interface Entry {
  readonly id: string
  readonly trace_id: string
  readonly code?: string
}

t.test(
  '"GET /requests … newest first … { id, trace_id, at, kind, application, method, route, … }"',
  async (t) => {
    const { id, key } = await api.application('private', ['token:create'], [], { name: 'Checkout' })
    const created = await api.call('POST', '/tokens', {
      key,
      body: { data: SECRET, metadata: { a: SECRET } },
      once: true,
    })
    t.equal(created.status, 201)
    const denied = await api.call('GET', `/tokens/${created.body.id}?${SECRET}=${SECRET}`, {
      key,
      once: true,
      headers: { 'x-secret': SECRET },
    })
    t.equal(denied.status, 403)
    const { data } = await list('?size=5')
    const entries = data.filter((entry: { application?: { id: string } }) => entry.application?.id === id)
    t.match(entries, [
      {
        kind: 'api',
        application: { id, name: 'Checkout' },
        status: 403,
        code: 'forbidden',
        outcome: 'responded',
        tokens: 0,
        duration_ms: Number,
        at: String,
        node: String,
      },
      { kind: 'api', method: 'POST', status: 201 },
    ])
    t.ok(['/tokens/{id}', 'Tokens.Get'].includes(entries[0].route), 'a template')
    t.equal(entries[0].trace_id, denied.headers['svc-trace-id'] ?? denied.headers['bt-trace-id'])
    t.notOk(JSON.stringify(await list('?size=100')).includes(SECRET), '"Never a body, query or header value"')
    await api.call('DELETE', `/applications/${id}`, { key: api.management, once: true })
    const after = (await list('?size=100')).data
    t.strictSame(
      after.find((entry: Entry) => entry.id === entries[0].id).application,
      { id },
      'a name that is gone is absent',
    )
  },
)

t.test('"cursor list": each call once', async (t) => {
  for (let n = 0; n < 5; n++) await api.call('GET', '/permissions', { key: api.management, once: true })
  const { data: all } = await list('?size=100')
  const paged: Entry[] = []
  let next: string | undefined
  let start = ''
  let pages = 0
  do {
    const { pagination, data } = await list(`?size=2${start}`)
    paged.push(...data)
    next = pagination.next
    start = `&start=${next}`
  } while (next !== undefined && ++pages < 100)
  const ids = paged.map(({ id }) => id)
  t.equal(new Set(ids).size, ids.length)
  t.strictSame(
    all.filter(({ id }: Entry) => !ids.includes(id)),
    [],
  )
  t.equal((await api.call('GET', '/requests?start=x', { key: api.management, once: true })).status, 400)
})

t.test('another tenant sees its own calls only, and "log:read" is required', async (t) => {
  const other = await api.otherTenant()
  const before = (await list('?size=100', other.key)).data.length
  await api.call('GET', '/permissions', { key: api.management, once: true })
  const { data } = await list('?size=100', other.key)
  t.equal(data.length, before + 1, 'its own list')
  for (const [type, permission, status] of [
    ['management', 'log:read', 200],
    ['management', 'session:read', 403],
    ['private', 'token:read', 403],
  ] as const) {
    const { key } = await api.application(type, [permission])
    t.equal((await api.call('GET', '/requests', { key, once: true })).status, status, permission)
  }
})

t.test('"rules": the rules that decided about tokens, as in "GET /tokens/{id}/access"', async (t) => {
  const rule = (priority: number, container: string, transform: string, permissions: string[]) => ({
    description: `rule ${priority}`,
    priority,
    container,
    transform,
    permissions,
  })
  const { id, key } = await api.application(
    'private',
    [],
    [
      rule(2, '/', 'mask', ['token:read', 'token:create']),
      rule(1, '/pci/', 'reveal', ['token:read']),
      rule(3, '/hr/', 'redact', ['token:delete']),
    ],
  )
  const ids: string[] = []
  for (const container of ['/pci/', '/hr/']) {
    const body = { data: SECRET, mask: 'x', containers: [container] }
    ids.push((await api.call('POST', '/tokens', { key, body, once: true })).body.id)
  }
  const rulesOf = async () => {
    const { data } = await list('?size=20')
    const newest = data.find((entry: { application?: { id: string } }) => entry.application?.id === id)
    return newest.rules
  }
  for (const token of ids) {
    await api.call('GET', `/tokens/${token}`, { key, once: true })
    const { data } = (
      await api.call('GET', `/tokens/${token}/access?size=100`, { key: api.management, once: true })
    ).body
    const { disclosure, rule } = data.find(
      (one: { permission: string; application: { id: string } }) =>
        one.application.id === id && one.permission === 'token:read',
    )
    const { description, priority, container } = rule
    t.strictSame(await rulesOf(), [
      { permission: 'token:read', disclosure, tokens: 1, description, priority, container },
    ])
  }
  await api.call('GET', '/tokens?size=100', { key, once: true })
  t.strictSame(
    (await rulesOf()).map(({ priority }: { priority: number }) => priority).sort(),
    [1, 2],
    'a list names each rule once',
  )
  await api.call('DELETE', `/tokens/${ids[0]}`, { key, once: true })
  t.strictSame(await rulesOf(), [{ permission: 'token:delete', disclosure: 'none', tokens: 1 }])
})

t.test('"GET /requests/destinations" omits calls of the API, and requires "log:read"', async (t) => {
  const { status, body } = await api.call('GET', '/requests/destinations', {
    key: api.management,
    once: true,
  })
  t.equal(status, 200)
  t.match(body, { since: /^\d{4}-/, data: [] })
  const { key } = await api.application('management', ['session:read'])
  t.equal((await api.call('GET', '/requests/destinations', { key, once: true })).status, 403)
})

const AT = Date.parse('2100-01-01T00:00:00Z')
const HOST = 'pay.example'

/** A call to `HOST` in the process of the service, `second` behind `AT`. */
const push = (second: number, changes: Partial<ListedRequest> = {}) =>
  api.service.metrics.recent.push({
    traceId: `trace-${second}`,
    at: AT + second * 1_000,
    kind: 'proxy',
    tenantId: api.service.tenantId,
    applicationId: undefined,
    proxyId: undefined,
    method: 'POST',
    route: '/proxy',
    host: HOST,
    outcome: 'answered',
    complete: true,
    status: 200,
    destinationStatus: 200,
    code: undefined,
    durationMs: 1,
    stages: {},
    tokens: 1,
    rules: [],
    requestBytes: undefined,
    responseBytes: undefined,
    ...changes,
  })

/** Traces of the calls to `HOST` that a query lists. */
const traces = async (query: string): Promise<readonly string[]> => {
  const { status, body } = await api.call('GET', `/requests?host=${HOST}&size=100&${query}`, {
    key: api.management,
  })
  t.equal(status, 200, query)
  return body.data.map(({ trace_id }: Entry) => trace_id)
}

t.test(
  '"kind, outcome, application, host, status, trace_id, start_date, end_date": each selects calls',
  async (t) => {
    const { id } = await api.application('private', ['token:use'])
    push(1, { applicationId: id })
    push(2, { kind: 'connect', outcome: 'tunneled', status: undefined, destinationStatus: undefined })
    push(3, { outcome: 'not_sent', complete: undefined, status: 403, destinationStatus: undefined })
    push(4, { status: 502, destinationStatus: undefined, complete: undefined, outcome: 'not_sent' })
    push(5, { complete: false })
    push(6, { outcome: 'sent', complete: undefined, status: undefined, destinationStatus: undefined })
    push(7, { status: 404, destinationStatus: 404, host: 'PAY.example.attacker.test' })
    for (const [query, seconds] of [
      ['', [6, 5, 4, 3, 2, 1]],
      ['kind=connect', [2]],
      ['outcome=sent', [6]],
      ['outcome=not_sent', [4, 3]],
      ['outcome=rejected', [3]],
      ['outcome=cut_off', [5]],
      ['outcome=failed', [5, 4, 3]],
      [`application=${id}`, [1]],
      ['status=403', [3]],
      ['status=2XX', [5, 1]],
      ['trace_id=trace-4', [4]],
      ['start_date=2100-01-01T00:00:05Z', [6, 5]],
      ['start_date=2100-01-01T00:00:02Z&end_date=2100-01-01T00:00:04Z', [3, 2]],
      ['kind=proxy&outcome=failed&status=5xx', [4]],
      ['application=&status=&trace_id=&start_date=', [6, 5, 4, 3, 2, 1]],
    ] as const)
      t.strictSame(
        await traces(query),
        seconds.map((second) => `trace-${second}`),
        query,
      )
    const { body } = await api.call('GET', `/requests?host=${HOST}`, { key: api.management })
    t.strictSame(
      body.data.map(({ failed }: { failed: boolean }) => failed),
      [false, true, true, true, false, false],
      '"failed": the filter of this name',
    )
    const [{ id: call }] = body.data
    const found = (await api.call('GET', `/requests?id=${call}`, { key: api.management })).body.data
    t.strictSame(found, [body.data[0]], '"id": that call')
    const other = await api.otherTenant()
    t.strictSame((await api.call('GET', `/requests?id=${call}`, { key: other.key })).body.data, [])
  },
)

t.test('another value of a filter is 400, with the member named', async (t) => {
  for (const [member, values] of [
    ['kind', ['proxies', '']],
    ['outcome', ['Failed', 'forwarded', 'toString']],
    ['status', ['600', '4', '4x', '404 ', 'x04']],
    ['start_date', ['yesterday']],
    ['end_date', ['2026-13-01']],
    ['console', ['yes']],
    ['sort', ['fastest']],
    ['host', ['a'.repeat(256)]],
    ['start', ['x']],
  ] as const)
    for (const value of values) {
      const query = `${member}=${encodeURIComponent(value)}`
      const { status, body } = await api.call('GET', `/requests?${query}`, { key: api.management })
      t.equal(status, 400, query)
      t.strictSame(Object.keys(body.errors), [member], query)
    }
})

t.test('"cursor list" with a filter and an order: full pages, each call once', async (t) => {
  for (let second = 10; second < 50; second++)
    push(second, { host: second % 4 === 0 ? 'far.example' : HOST, durationMs: 100 - second })
  for (const [sort, seconds] of [
    ['newest', [48, 44, 40, 36, 32, 28, 24, 20, 16, 12]],
    ['slowest', [12, 16, 20, 24, 28, 32, 36, 40, 44, 48]],
  ] as const) {
    const walked: string[] = []
    const sizes: number[] = []
    let start = ''
    do {
      const path = `/requests?host=far.example&sort=${sort}&size=4${start}`
      const { pagination, data } = (await api.call('GET', path, { key: api.management })).body
      walked.push(...data.map(({ trace_id }: Entry) => trace_id))
      sizes.push(data.length)
      start = pagination.next === undefined ? '' : `&start=${pagination.next}`
    } while (start !== '')
    t.strictSame(
      walked,
      seconds.map((second) => `trace-${second}`),
      sort,
    )
    t.strictSame(sizes, [4, 4, 2])
  }
})

t.test('"console": calls of the console\'s own pages are left out unless asked for', async (t) => {
  push(60, { traceId: 'page', kind: 'api', isConsole: true, status: 403, outcome: 'responded' })
  t.notOk((await traces('')).includes('page'))
  t.notOk((await traces('outcome=failed&console=false')).includes('page'))
  t.ok((await traces('console=true')).includes('page'))
  const { body } = await api.call('GET', '/requests?trace_id=page&console=true', { key: api.management })
  t.match(body.data, [{ console: true }])
})
