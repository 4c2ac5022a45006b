import t from 'tap'
import { startApi } from './api.ts'

/** `ETag` and `If-Match` of every entity that can be read, and updated or deleted (completions §1). */

const api = await startApi(t)
const { management } = api
const { key: use } = await api.application('private', [
  'token:create',
  'token:read',
  'token:update',
  'token:delete',
])
const CODE = 'module.exports = () => ({ raw: 1 })'

type Send = (method: string, path: string, body?: object, ifMatch?: string) => ReturnType<typeof api.call>

const sendWith =
  (key: string): Send =>
  (method, path, body, ifMatch) =>
    api.call(method, path, { key, body, headers: ifMatch === undefined ? {} : { 'if-match': ifMatch } })

const create = async (send: Send, path: string, body: object = {}): Promise<string> =>
  (await send('POST', path, body)).body.id

const tagOf = ({ headers }: Awaited<ReturnType<Send>>): string => headers.etag ?? 'none'

interface Entity {
  readonly key?: string
  readonly collection: string
  readonly input?: object
  /** Changes, each of another kind; none: it can only be deleted. */
  readonly changes?: readonly (readonly [method: string, body: object])[]
}

const application = { name: 'a', type: 'private', permissions: ['token:read'] }
const proxy = { name: 'p', destination_url: 'https://example.com' }
const reactor = { name: 'r', code: CODE }
const formula = { name: 'f', type: 'private', code: CODE }
const keyed = await api.application('private', ['token:read'])
const entities: readonly Entity[] = [
  {
    key: use,
    collection: '/tokens',
    input: { data: 'x' },
    changes: [['PATCH', { metadata: { a: 'b' } }]],
  },
  { collection: '/applications', input: application, changes: [['PUT', { ...application, name: 'b' }]] },
  { collection: `/applications/${keyed.id}/keys` },
  {
    collection: '/proxies',
    input: proxy,
    changes: [
      ['PUT', { ...proxy, name: 'q' }],
      ['PATCH', { name: 'r' }],
    ],
  },
  {
    collection: '/reactors',
    input: reactor,
    changes: [
      ['PUT', { ...reactor, name: 's' }],
      ['PATCH', { name: 't' }],
    ],
  },
  { collection: '/reactor-formulas', input: formula, changes: [['PUT', { ...formula, name: 'g' }]] },
  { collection: '/tenants/self/invitations', input: { email: 'ann@example.com' } },
]

const FAILED = { status: 412, body: { code: 'precondition_failed', status: 412 } }

for (const { key = management, collection, input, changes = [] } of entities)
  t.test(`${collection} heeds If-Match`, async (t) => {
    const send = sendWith(key)
    const created = await send('POST', collection, input ?? {})
    const path = `${collection}/${created.body.id}`
    const read = async () => {
      const { status, headers, body } = await send('GET', path)
      t.equal(status, 200)
      t.match(headers.etag, /^"[\w-]+"$/, 'it is strong')
      return { etag: headers.etag!, body }
    }
    const first = await read()
    t.equal(tagOf(created), first.etag, 'the create had it')
    t.strictSame(await read(), first, 'the same while nothing changes')
    for (const [method, body] of changes) {
      const { etag } = await read()
      const response = await send(method, path, body, etag)
      t.ok(response.status < 300, method)
      const changed = await read()
      t.not(changed.etag, etag)
      t.equal(tagOf(response), changed.etag, 'the change returns the new one')
      for (const stale of [etag, `W/${changed.etag}`, '"other"', 'no tag'])
        t.match(await send(method, path, body, stale), FAILED, `${method} ${stale}`)
      t.strictSame(await read(), changed, 'nothing was changed')
      t.ok((await send(method, path, body, `"other", ${changed.etag}`)).status < 300, 'one of a list')
      t.ok((await send(method, path, body, '*')).status < 300)
      t.ok((await send(method, path, body)).status < 300, 'as without the header')
    }
    const { etag } = await read()
    t.match(await send('DELETE', path, undefined, '"other"'), FAILED)
    t.equal((await send('GET', path, undefined, '"other"')).status, 200, 'a read ignores it')
    const gone = await send('DELETE', path, undefined, etag)
    t.strictSame([gone.status, tagOf(gone)], [204, 'none'])
    for (const ifMatch of [etag, '*']) t.equal((await send('DELETE', path, undefined, ifMatch)).status, 404)
  })

t.test('a member and its tenant heed If-Match', async (t) => {
  const other = await api.otherTenant()
  const send = sendWith(other.key)
  const tag = async (path: string) => (await send('GET', path)).headers.etag
  const { id: invitation } = (await send('POST', '/tenants/self/invitations', { email: 'a@example.com' }))
    .body
  const { id: tenant } = (await send('GET', '/tenants/self')).body
  const { members } = api.service.kernel.registry.ports
  const id = await members!.acceptInvitation(tenant, invitation, 'user-1')
  const cases = [
    [`/tenants/self/members/${id}`, { role: 'READ' }],
    ['/tenants/self', { name: 'New' }],
  ] as const
  for (const [path, body] of cases) {
    const etag = await tag(path)
    const changed = await send('PUT', path, body, etag)
    t.equal(changed.status, 200)
    t.not(tagOf(changed), etag, 'also within one millisecond')
    t.equal(tagOf(changed), await tag(path))
    t.match(await send('PUT', path, body, etag), FAILED)
    t.match(await send('DELETE', path, undefined, etag), FAILED)
    t.equal((await send('DELETE', path, undefined, await tag(path))).status, 204)
  }
})

t.test('of concurrent changes and deletions with one ETag, one succeeds', async (t) => {
  for (const { key = management, collection, input, changes = [] } of entities) {
    const send = sendWith(key)
    for (const [method, body] of [...changes, ...changes, ['DELETE', undefined] as const]) {
      const path = `${collection}/${await create(send, collection, input)}`
      const { etag } = (await send('GET', path)).headers
      const responses = await Promise.all([
        ...Array.from({ length: 4 }, () => send(method, path, body, etag)),
        send('DELETE', path, undefined, etag),
      ])
      const succeeded = responses.filter(({ status }) => status < 300)
      const others = responses.filter(({ status }) => [404, 412].includes(status))
      t.strictSame([succeeded.length, others.length], [1, 4], `${method} ${collection}`)
    }
  }
})

t.test('the ETag of a deleted token is not that of another one with its id', async (t) => {
  const send = sendWith(use)
  const input = { id: 'again', data: 'x' }
  await create(send, '/tokens', input)
  const { etag } = (await send('GET', '/tokens/again')).headers
  await send('DELETE', '/tokens/again', undefined, etag)
  api.clock.advance(1)
  await create(send, '/tokens', input)
  t.match(await send('DELETE', '/tokens/again', undefined, etag), FAILED)
})

t.test('a denied or invalid change is that, whatever If-Match is', async (t) => {
  const path = `/proxies/${await create(sendWith(management), '/proxies', proxy)}`
  t.equal((await sendWith(use)('PUT', path, proxy, '"other"')).status, 403)
  t.equal((await sendWith(management)('PUT', path, { name: '' }, '"other"')).status, 400)
  const token = `/tokens/${await create(sendWith(use), '/tokens', { data: 'x' })}`
  t.equal((await sendWith(keyed.key)('DELETE', token, undefined, '"other"')).status, 403)
})

t.test('a response that is no entity of its own path has no ETag', async (t) => {
  const send = sendWith(management)
  const { id } = await api.application('private', ['token:read'])
  const { body } = await send('POST', '/tenants/self/invitations', { email: 'b@example.com' })
  const others = [
    await send('GET', '/applications'),
    await send('POST', `/applications/${id}/regenerate`),
    await send('POST', `/tenants/self/invitations/${body.id}/resend`),
  ]
  for (const response of others) t.strictSame([response.status, tagOf(response)], [200, 'none'])
})

t.test('a create that returns a duplicate has the ETag of the existing token', async (t) => {
  const key = await api.revealing()
  const write = await api.application(
    'private',
    [],
    [
      {
        description: 'all',
        priority: 1,
        container: '/',
        transform: 'reveal',
        permissions: ['token:create', 'token:read'],
      },
    ],
  )
  const post = () => sendWith(write.key)('POST', '/tokens', { data: 'once', deduplicate_token: true })
  const [first, second] = [await post(), await post()]
  t.equal(second.body.id, first.body.id)
  t.equal(tagOf(second), tagOf(first))
  t.equal(tagOf(await sendWith(key)('GET', `/tokens/${first.body.id}`)), tagOf(first))
})

t.test('a repeated response has no ETag: the entity may have been changed since', async (t) => {
  const post = () =>
    api.call('POST', '/proxies', {
      key: management,
      body: proxy,
      headers: { 'idempotency-key': 'again' },
      once: true,
    })
  const [first, second] = [await post(), await post()]
  t.equal(second.body.id, first.body.id)
  t.match(tagOf(first), /^"/)
  t.equal(tagOf(second), 'none')
})
