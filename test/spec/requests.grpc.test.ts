import t from 'tap'
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
