import t from 'tap'
import { startBeside } from '../kit/beside.ts'
import { type Response, startTestService } from '../kit/service.ts'
import { ALL_TOKEN_PERMISSIONS } from '../kit/sidevault.ts'

/** Calls at once: fewer on PostgreSQL, where each takes longer. */
const COUNT = process.env.SPEC_STORE === 'postgres' ? 16 : 32
/** Members that they set, each more than once. */
const MEMBERS = COUNT - 7

const first = await startTestService(t)
/** The same, in a process of its own. */
const two = await startBeside(t, first)
const { managementKey } = first
const tokenKey = await first.application({ permissions: ALL_TOKEN_PERMISSIONS })
const publicKey = await first.application({ permissions: ['token:create'] }, 'public')

interface Sent {
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
  readonly key?: string
}

const keyFor = (path: string) => (/^\/(v2\/)?tokens/.test(path) ? tokenKey : managementKey)

type Service = Pick<typeof first, 'call'>

const call = (method: string, path: string, sent: Sent = {}, service: Service = first) =>
  service.call(method, path, { key: keyFor(path), ...sent })

t.test('the two services are separate processes', async (t) => {
  t.not(two.pid, process.pid)
  t.equal((await call('GET', '/tenants/self', {}, two)).json.id, first.tenantId)
})

/** `COUNT` calls at once, by turns to either service. */
const race = (make: (index: number) => readonly [method: string, path: string, sent?: Sent]) =>
  Promise.all(
    Array.from({ length: COUNT }, (_, index) => {
      const [method, path, sent] = make(index)
      return call(method, path, sent, index % 2 ? two : first)
    }),
  )

/** Number of responses by status. */
const statuses = (responses: readonly Response[]): Record<number, number> => {
  const counted: Record<number, number> = {}
  for (const { status } of responses) counted[status] = (counted[status] ?? 0) + 1
  return counted
}

const make = async (path: string, sent: Sent = {}) => {
  const response = await call('POST', path, sent)
  if (response.status !== 201) throw new Error(response.text)
  return response.json
}

const code = 'module.exports = async () => ({})'
const proxyBody = { name: 'p', destination_url: 'https://api.example.com' }
const webhookBody = { name: 'w', url: 'https://hooks.example.com', events: ['token.created'] }
const formulaBody = { name: 'f', type: 'private', code }
const permissions = ['token:read']

const newMember = async (user: string) => {
  const { id } = await make('/tenants/self/invitations', { body: { email: 'a@example.com' } })
  return first.kernel.registry.ports.members!.acceptInvitation(first.tenantId, id, user)
}

/** A thing of each kind that has an id and can be deleted. */
const KINDS: Readonly<Record<string, () => Promise<string>>> = {
  '/tokens': async () => (await make('/tokens', { body: { data: 'x' } })).id,
  '/applications': async () =>
    (await make('/applications', { body: { name: 'a', type: 'private', permissions } })).id,
  '/proxies': async () => (await make('/proxies', { body: proxyBody })).id,
  '/reactor-formulas': async () => (await make('/reactor-formulas', { body: formulaBody })).id,
  '/reactors': async () => (await make('/reactors', { body: { name: 'r', code } })).id,
  '/webhooks': async () => (await make('/webhooks', { body: webhookBody })).id,
  '/tenants/self/invitations': async () =>
    (await make('/tenants/self/invitations', { body: { email: 'a@example.com' } })).id,
  '/tenants/self/members': () => newMember('deleted'),
}

t.test('merges at once into one token lose no metadata', async (t) => {
  // Some go over the same ones again.
  const id = await KINDS['/tokens']!()
  const responses = await race((index) => [
    'PATCH',
    `/tokens/${id}`,
    { body: { metadata: { [`k${index % MEMBERS}`]: 'v' } } },
  ])
  t.strictSame(statuses(responses), { 200: COUNT })
  t.equal(Object.keys((await call('GET', `/tokens/${id}`)).json.metadata).length, MEMBERS)
})

t.test('merges at once into the data of one token lose none', async (t) => {
  const revealing = await first.application({
    rules: [{ description: 'all', priority: 1, container: '/', transform: 'reveal', permissions }],
  })
  const { id } = await make('/tokens', { body: { data: {} } })
  const responses = await race((index) => [
    'PATCH',
    `/tokens/${id}`,
    { body: { data: { [`k${index}`]: index } } },
  ])
  t.strictSame(statuses(responses), { 200: COUNT })
  const { json } = await call('GET', `/tokens/${id}`, { key: revealing })
  t.equal(Object.keys(json.data).length, COUNT)
})

for (const [path, status] of [
  ['/proxies', 204],
  ['/reactors', 204],
] as const)
  t.test(`merges at once into first of ${path} lose no configuration`, async (t) => {
    const id = await KINDS[path]!()
    const responses = await race((index) => [
      'PATCH',
      `${path}/${id}`,
      { body: { configuration: { [`k${index % MEMBERS}`]: 'v' } } },
    ])
    t.strictSame(statuses(responses), { [status]: COUNT })
    t.equal(Object.keys((await call('GET', `${path}/${id}`)).json.configuration).length, MEMBERS)
  })

const REPLACED: readonly (readonly [path: string, body: (index: number) => object])[] = [
  [
    '/applications',
    (index) => ({ name: `n${index}`, permissions: [['token:read'], ['token:use']][index % 2] }),
  ],
  ['/proxies', (index) => ({ ...proxyBody, name: `n${index}`, configuration: { of: `n${index}` } })],
  ['/reactor-formulas', (index) => ({ ...formulaBody, name: `n${index}`, description: `n${index}` })],
  ['/reactors', (index) => ({ code, name: `n${index}`, configuration: { of: `n${index}` } })],
  [
    '/webhooks',
    (index) => ({ ...webhookBody, name: `n${index}`, status: ['enabled', 'disabled'][index % 2] }),
  ],
]
for (const [path, body] of REPLACED)
  t.test(`replacements of first of ${path} all succeed, and the last state is first of them`, async (t) => {
    const id = await KINDS[path]!()
    const responses = await race((index) => ['PUT', `${path}/${id}`, { body: body(index) }])
    t.strictSame(statuses(responses), { 200: COUNT })
    const { json } = await call('GET', `${path}/${id}`)
    t.match(json, body(Number(json.name.slice(1))), 'name and the rest are of one request')
    t.same(
      new Set(responses.map((response) => response.json.name)).size,
      COUNT,
      'each response has what its request set',
    )
  })

t.test('reactors created of one formula at once all succeed', async (t) => {
  const id = await KINDS['/reactor-formulas']!()
  const responses = await race((index) => [
    'POST',
    '/reactors',
    { body: { name: `n${index}`, formula: { id } } },
  ])
  t.strictSame(statuses(responses), { 201: COUNT })
  t.equal((await call('DELETE', `/reactor-formulas/${id}`)).status, 409, 'and hold it')
})

t.test('of webhooks created at once, as many as a tenant may have succeed', async (t) => {
  const { json } = await call('GET', '/webhooks')
  const responses = await race(() => ['POST', '/webhooks', { body: webhookBody }])
  const free = 5 - json.data.length
  t.strictSame(statuses(responses), { 201: free, 422: COUNT - free })
  for (const response of responses.filter(({ status }) => status === 201))
    t.equal((await call('DELETE', `/webhooks/${response.json.id}`)).status, 204)
})

t.test('concurrent changes of a member and of an invitation all succeed', async (t) => {
  const member = await newMember('changed')
  const roles = await race(() => ['PUT', `/tenants/self/members/${member}`, { body: { role: 'READ' } }])
  t.strictSame(statuses(roles), { 200: COUNT })
  const invitation = await KINDS['/tenants/self/invitations']!()
  const resent = await race(() => ['POST', `/tenants/self/invitations/${invitation}/resend`])
  t.strictSame(statuses(resent), { 200: COUNT })
})

t.test('a tenant renamed many times keeps the settings of a concurrent request', async (t) => {
  for (let round = 0; round < 5; round++) {
    await call('PUT', '/tenants/self', { body: { name: 'before', settings: {} } })
    const settings = { fingerprint_tokens: 'true' }
    const responses = await race((index) => [
      'PUT',
      '/tenants/self',
      { body: { name: `n${index}`, ...(index === COUNT / 2 ? { settings } : {}) } },
    ])
    t.strictSame(statuses(responses), { 200: COUNT })
    t.match((await call('GET', '/tenants/self')).json.settings, settings)
  }
  await call('PUT', '/tenants/self', { body: { name: 'after', settings: {} } })
})

for (const [path, create] of Object.entries(KINDS))
  t.test(`of concurrent deletes of first of ${path}, first succeeds`, async (t) => {
    const id = await create()
    const responses = await race(() => ['DELETE', `${path}/${id}`])
    t.strictSame(statuses(responses), { 204: 1, 404: COUNT - 1 })
  })

for (const path of ['/tokens', '/applications', '/proxies', '/reactor-formulas', '/reactors', '/webhooks'])
  t.test(`an entity deleted amid changes stays deleted: ${path}`, async (t) => {
    const id = await KINDS[path]!()
    const [method, body] =
      path === '/tokens'
        ? (['PATCH', () => ({ metadata: { a: 'b' } })] as const)
        : (['PUT', REPLACED.find(([of]) => of === path)![1]] as const)
    const responses = await race((index) =>
      index === COUNT / 2 ? ['DELETE', `${path}/${id}`] : [method, `${path}/${id}`, { body: body(index) }],
    )
    t.equal(responses[COUNT / 2]?.status, 204)
    t.strictSame(
      Object.keys(statuses(responses)).filter((status) => !['200', '204', '404'].includes(status)),
      [],
    )
    for (const service of [first, two]) t.equal((await call('GET', `${path}/${id}`, {}, service)).status, 404)
  })

t.test('of concurrent deletes of a tenant, one succeeds, and its key is invalid everywhere', async (t) => {
  const { key } = await first.newTenant('Deleted')
  const responses = await race(() => ['DELETE', '/tenants/self', { key }])
  const { 204: done, ...others } = statuses(responses)
  t.equal(done, 1)
  t.strictSame(
    Object.keys(others).filter((status) => !['401', '404'].includes(status)),
    [],
  )
  for (const service of [first, two])
    t.equal((await call('GET', '/tenants/self', { key }, service)).status, 401)
})

t.test('of concurrent authorizations of one session, one succeeds, and only its grant applies', async (t) => {
  const { nonce, session_key } = await make('/sessions', { key: publicKey })
  const granted = ['token:create', 'token:read']
  const responses = await race((index) => [
    'POST',
    '/sessions/authorize',
    { key: tokenKey, body: { nonce, permissions: [granted[index % 2]] } },
  ])
  t.strictSame(statuses(responses), { 200: 1, 409: COUNT - 1 })
  const winner = responses.findIndex(({ status }) => status === 200)
  const creates = await call('POST', '/tokens', { key: session_key, body: { data: 'x' } })
  t.equal(creates.status, winner % 2 === 0 ? 201 : 403)
  const reads = await call('GET', '/tokens', { key: session_key })
  t.equal(reads.status, winner % 2 === 0 ? 403 : 200)
})

t.test('creates of equal data with deduplication leave one token', async (t) => {
  const body = { data: 'one and the same', deduplicate_token: true }
  const responses = await race(() => ['POST', '/tokens', { body }])
  t.strictSame(statuses(responses), { 201: COUNT })
  const ids = new Set(responses.map(({ json }) => json.id))
  t.equal(ids.size, 1)
  const [{ json }] = responses as [Response]
  const found = await call('GET', `/v2/tokens?fingerprint=${json.fingerprint}`)
  t.equal(found.json.data.length, 1)
})

t.test('of many creates of one chosen id, one succeeds, and its data is stored', async (t) => {
  const responses = await race((index) => [
    'POST',
    '/tokens',
    { body: { id: 'chosen', data: index, metadata: { of: `${index}` } } },
  ])
  t.strictSame(statuses(responses), { 201: 1, 409: COUNT - 1 })
  const winner = responses.findIndex(({ status }) => status === 201)
  t.equal((await call('GET', '/tokens/chosen')).json.metadata.of, `${winner}`)
})

t.test('retries with one idempotency key have one effect', async (t) => {
  const before = (await call('GET', '/proxies')).json.pagination.total_items
  const retry = () =>
    race(() => ['POST', '/proxies', { body: proxyBody, headers: { 'svc-idempotency-key': 'k' } }])
  const responses = await retry()
  const created = responses.filter(({ status }) => status === 201)
  t.strictSame(
    Object.keys(statuses(responses)).filter((status) => !['201', '409'].includes(status)),
    [],
  )
  t.ok(created.length >= 1)
  const later = await retry()
  t.strictSame(statuses(later), { 201: COUNT })
  t.equal(new Set([...created, ...later].map(({ text }) => text)).size, 1, 'all responses are equal')
  t.equal((await call('GET', '/proxies')).json.pagination.total_items, before + 1)
})

t.test('concurrent requests for keys never exceed three, and no key is created twice', async (t) => {
  const { id } = await make('/applications', { body: { name: 'a', type: 'private', permissions } })
  const responses = await race(() => ['POST', `/applications/${id}/keys`])
  t.strictSame(statuses(responses), { 201: 2, 422: COUNT - 2 })
  const { json } = await call('GET', `/applications/${id}/keys`)
  t.strictSame(json.map(({ version }: { version: string }) => version).sort(), ['1', '2', '3'])
})

t.test('of many regenerated keys one is valid at the end, on either service', async (t) => {
  const { id, key } = await make('/applications', { body: { name: 'a', type: 'private', permissions } })
  const responses = await race(() => ['POST', `/applications/${id}/regenerate`])
  t.strictSame(statuses(responses), { 200: COUNT })
  const works = async (candidate: string, service: Service) =>
    (await call('GET', '/applications/key', { key: candidate }, service)).status === 200
  for (const service of [first, two]) {
    t.notOk(await works(key, service), 'the first one is dead')
    const working = await Promise.all(responses.map(({ json }) => works(json.key, service)))
    t.equal(working.filter(Boolean).length, 1)
  }
  t.equal((await call('GET', `/applications/${id}/keys`)).json.length, 1)
})

t.test('of concurrent creates or deletes of one association, one succeeds each', async (t) => {
  const [parent, child] = [await KINDS['/tokens']!(), await KINDS['/tokens']!()]
  const created = await race(() => ['POST', `/tokens/${parent}/children/${child}`])
  t.strictSame(statuses(created), { 204: 1, 409: COUNT - 1 })
  const dissolved = await race(() => ['DELETE', `/tokens/${parent}/children/${child}`])
  t.strictSame(statuses(dissolved), { 204: 1, 404: COUNT - 1 })
})

t.test('of many users who accept one invitation, one becomes a member', async (t) => {
  const members = async () => (await call('GET', '/tenants/self/members')).json.pagination.total_items
  const before = await members()
  const id = await KINDS['/tenants/self/invitations']!()
  const joins = await Promise.allSettled(
    Array.from({ length: COUNT }, (_, index) =>
      index % 2
        ? two.join(first.tenantId, id, `user-${index}`)
        : first.kernel.registry.ports.members!.acceptInvitation(first.tenantId, id, `user-${index}`),
    ),
  )
  t.equal(joins.filter(({ status }) => status === 'fulfilled').length, 1)
  for (const join of joins)
    if (join.status === 'rejected') t.match(join.reason.code, /^(conflict|\w+_not_found)$/)
  t.equal(await members(), before + 1)
})
