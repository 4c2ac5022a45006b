import t from 'tap'
import { sharedSidevault } from '../kit/shared-sidevault.ts'
import { ALL_TOKEN_PERMISSIONS } from '../kit/sidevault.ts'

/**
 * What client libraries of another brand send and read (completions §1): their headers and query parameter, trailing
 * slashes, repeated members, merge patches, problems.
 */

const vault = await sharedSidevault({ SIDEVAULT_HEADER_PREFIXES: 'SVC,BT' })

interface Sent {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A library's HTTP client: JSON unless said otherwise, the brand checked on every answer, problems thrown. */
const client =
  (key: string) =>
  async (method: string, path: string, sent: Sent = {}) => {
    const traceId = `trace-${method}-${path.length}`
    const merges = method === 'PATCH' && !path.startsWith('/proxy')
    const response = await vault.call(method, path, {
      ...(sent.body === undefined ? {} : { body: sent.body }),
      headers: {
        'BT-API-KEY': key,
        'BT-TRACE-ID': traceId,
        accept: 'application/json',
        'user-agent': 'a-client/1.0',
        ...(merges ? { 'content-type': 'application/merge-patch+json' } : {}),
        ...sent.headers,
      },
    })
    if (response.headers.get('bt-trace-id') !== traceId)
      throw new Error(`${method} ${path}: another trace id`)
    if ([...response.headers.keys()].some((name) => name.startsWith('svc-')))
      throw new Error(`${method} ${path}: a header of another brand`)
    if (response.status < 400) return response
    const { code, title, status, detail, errors } = response.json.proxy_error ?? response.json
    throw Object.assign(new Error(title), { code, title, status, detail, errors })
  }

/** The problem that a call threw. */
const problemOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )

const manage = client(vault.managementKey)
const newKey = async (body: object): Promise<string> =>
  (await manage('POST', '/applications/', { body: { name: 'client', ...body } })).json.key
const use = client(await newKey({ type: 'private', permissions: ALL_TOKEN_PERMISSIONS }))
const reveal = client(
  await newKey({
    type: 'private',
    rules: [
      {
        description: 'all',
        priority: 1,
        container: '/',
        transform: 'reveal',
        permissions: ALL_TOKEN_PERMISSIONS,
      },
    ],
  }),
)

t.test('applications and their keys', async (t) => {
  const make = (name: string) =>
    manage('POST', '/applications', { body: { name, type: 'private', permissions: ['token:read'] } })
  const [one, two] = [(await make('one')).json, (await make('two')).json]
  const list = await manage('GET', `/applications/?id=${one.id}&id=${two.id}&page=1&size=1`)
  t.match(list.json, {
    pagination: { total_items: 2, page_number: 1, page_size: 1, total_pages: 2 },
    data: [{ id: two.id }],
  })
  t.equal((await client(one.key)('GET', '/applications/key')).json.id, one.id)
  const body = { name: 'three', permissions: ['token:use'] }
  t.match((await manage('PUT', `/applications/${one.id}`, { body })).json, body)
  const fresh = (await manage('POST', `/applications/${one.id}/regenerate`)).json.key
  t.match(await problemOf(client(one.key)('GET', '/applications/key')), {
    status: 401,
    code: 'unauthenticated',
  })
  t.equal((await client(fresh)('GET', '/applications/key')).status, 200)
  const { id } = (await manage('POST', `/applications/${one.id}/keys`, { body: {} })).json
  t.equal((await manage('GET', `/applications/${one.id}/keys`)).json.length, 2)
  t.equal((await manage('DELETE', `/applications/${one.id}/keys/${id}`)).status, 204)
  t.equal((await manage('DELETE', `/applications/${one.id}`)).status, 204)
  t.ok((await manage('GET', '/permissions/?application_type=public')).json.length > 0)
})

t.test('tokens', async (t) => {
  const card = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' }
  const request = { type: 'card', data: card, metadata: { color: 'red' } }
  const headers = { 'BT-IDEMPOTENCY-KEY': 'order-1' }
  const made = await use('POST', '/tokens/', { body: request, headers })
  t.equal(made.headers.get('location'), `${vault.url}/tokens/${made.json.id}`)
  t.strictSame((await use('POST', '/tokens', { body: request, headers })).json, made.json)
  const { id } = made.json
  t.equal(made.json.data.number, 'XXXXXXXXXXXX4242')
  t.strictSame((await reveal('GET', `/tokens/${id}`)).json.data, card)
  const other = (await use('POST', '/tokens', { body: { data: 'x', metadata: { color: 'blue' } } })).json
  for (const query of [
    'metadata.color=red',
    'metadata[color]=red',
    'metadata=%7B%22color%22%3A%22red%22%7D',
  ]) {
    const { json } = await use('GET', `/tokens/?id=${id}&id=${other.id}&type=card&type=token&${query}`)
    t.strictSame(
      json.data.map((token: { id: string }) => token.id),
      [id],
      query,
    )
  }
  const cursor = await use('GET', '/v2/tokens/?size=1')
  t.equal(cursor.json.data[0].id, other.id)
  const start = encodeURIComponent(cursor.json.pagination.next)
  t.equal((await use('GET', `/v2/tokens?size=1&start=${start}`)).json.data[0].id, id)
  const patched = await use('PATCH', `/tokens/${id}`, {
    body: { data: { expiration_year: 2031, cvc: null }, metadata: { size: 'xl' } },
  })
  t.match(patched.json, { data: { expiration_year: 2031 }, metadata: { color: 'red', size: 'xl' } })
  for (const path of ['/tokens/search', '/v2/tokens/search'])
    t.equal((await use('POST', path, { body: { query: 'metadata.size:xl' } })).json.data[0].id, id)
  const tokenized = await use('POST', '/tokenize', { body: { a: 'b', list: [{ type: 'token', data: 1 }] } })
  t.equal(typeof tokenized.json.list[0].id, 'string')
  const body = { number: `{{ ${id} | json: '$.number' }}` }
  t.strictSame((await reveal('POST', '/detokenize', { body })).json, { number: card.number })
  t.equal((await use('POST', `/tokens/${id}/children/${other.id}`)).status, 204)
  t.equal((await use('GET', `/tokens/${id}/children/?type=token`)).json.data[0].id, other.id)
  t.equal((await use('DELETE', `/tokens/${id}/children/${other.id}`)).status, 204)
  const wrong = use('POST', '/tokens', { body: { type: 'card', data: { number: '1' } } })
  t.match(await problemOf(wrong), {
    status: 400,
    title: String,
    detail: String,
    errors: { 'data.number': [String] },
  })
  t.equal((await use('DELETE', `/tokens/${id}`)).status, 204)
  t.match(await problemOf(use('GET', `/tokens/${id}`)), {
    status: 404,
    code: 'token_not_found',
    detail: String,
  })
  t.match(await problemOf(use('GET', '/tenants/self')), { status: 403, code: 'forbidden', detail: String })
})

t.test('tenant, people and logs', async (t) => {
  const body = { name: 'A client', settings: { deduplicate_tokens: 'false' } }
  t.match((await manage('PUT', '/tenants/self', { body })).json, body)
  t.match((await manage('GET', '/tenants/self/reports/usage')).json, { token_report: Object })
  t.equal((await manage('GET', '/tenants/self/members/')).json.data[0].role, 'OWNER')
  const { id } = (await manage('POST', '/tenants/self/invitations', { body: { email: 'a@example.com' } }))
    .json
  t.equal((await manage('POST', `/tenants/self/invitations/${id}/resend`)).json.id, id)
  t.equal((await manage('DELETE', `/tenants/self/invitations/${id}`)).status, 204)
  const start = new Date(Date.now() - 3_600_000).toISOString()
  const logs = await manage('GET', `/logs/?entity_type=tenant&start_date=${encodeURIComponent(start)}&size=1`)
  t.match(logs.json.data, [{ operation: 'update', entity_type: 'tenant' }])
  t.ok((await manage('GET', '/logs/entity-types/')).json.length > 5)
})

t.test('proxies, formulas and reactors', async (t) => {
  const proxy = { name: 'one', destination_url: 'https://example.com/in', require_auth: false }
  const { id, key } = (await manage('POST', '/proxies/', { body: proxy })).json
  t.match(key, /^[1-9A-HJ-NP-Za-km-z]{22}$/)
  t.equal((await manage('PATCH', `/proxies/${id}`, { body: { configuration: { A: 'b' } } })).status, 204)
  t.match((await manage('GET', `/proxies/?id=${id}&name=on*`)).json.data, [{ id, configuration: { A: 'b' } }])
  t.equal((await manage('PUT', `/proxies/${id}`, { body: { ...proxy, name: 'two' } })).json.name, 'two')
  t.equal((await manage('DELETE', `/proxies/${id}`)).status, 204)

  const code = 'module.exports = async function (req) { return { raw: {} } }'
  const formula = { name: 'f', type: 'private', code, configuration: [{ name: 'A', type: 'string' }] }
  const made = (await manage('POST', '/reactor-formulas', { body: { ...formula, request_parameters: [] } }))
    .json
  const reactor = { name: 'r', formula: { id: made.id }, configuration: { A: 'x' } }
  const { id: reactorId } = (await manage('POST', '/reactors/', { body: reactor })).json
  const path = `/reactors/${reactorId}`
  const update = { name: 'renamed', configuration: { A: 'y' } }
  t.match((await manage('PUT', path, { body: update })).json, { ...update, formula: { id: made.id } })
  t.match(await problemOf(manage('PUT', path, { body: { name: 'without' } })), {
    status: 400,
    errors: { 'configuration.A': [String] },
  })
  t.equal((await manage('PATCH', path, { body: { name: 'patched' } })).status, 204)
  t.match((await manage('GET', '/reactors?name=patch')).json.data, [{ id: reactorId, name: 'patched' }])
  t.equal((await manage('DELETE', path)).status, 204)
  t.equal((await manage('DELETE', `/reactor-formulas/${made.id}`)).status, 204)
})

t.test('sessions', async (t) => {
  const key = await newKey({ type: 'public', permissions: ['token:create'] })
  const { session_key, nonce } = (await client(key)('POST', '/sessions/')).json
  const { id } = (await use('POST', '/tokens', { body: { data: 'seen' } })).json
  t.match(await problemOf(client(session_key)('GET', `/tokens/${id}`)), { status: 403 })
  const condition = { attribute: 'id', operator: 'equals', value: id }
  const rule = { description: 'one', priority: 1, transform: 'mask', permissions: ['token:read'] }
  const body = { nonce, rules: [{ ...rule, conditions: [condition] }] }
  t.equal((await use('POST', '/sessions/authorize', { body })).status, 200)
  t.equal((await client(session_key)('GET', `/tokens/${id}`)).json.id, id)
})

t.test('the proxy', async (t) => {
  const { id } = (await use('POST', '/tokens', { body: { data: 'through' } })).json
  const headers = { 'BT-PROXY-URL': 'https://demo.sidevault.test/in/' }
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    const body = { value: `{{ ${id} }}` }
    const sent = await use(method, '/proxy/sub/path?q=1', { body, headers })
    t.match(sent.json, { method, path: '/in/sub/path?q=1', body: { value: 'through' } })
    t.equal(sent.headers.get('bt-proxy-destination-status'), '200')
    t.match(sent.json.headers, { 'bt-trace-id': String, 'user-agent': 'a-client/1.0' })
    t.notMatch(Object.keys(sent.json.headers).join(' '), /(bt|svc)-(api-key|proxy)/)
  }
  t.equal((await use('GET', '/proxy/', { headers })).status, 200)
  t.match(await problemOf(use('POST', '/proxy', { body: { value: '{{ none }}' }, headers })), {
    status: 400,
    title: String,
    detail: String,
  })
  t.match(await problemOf(use('POST', '/proxy?bt-proxy-key=1111111111111111111111', { body: {} })), {
    status: 404,
  })
  t.match(await problemOf(use('POST', '/proxy', { body: {} })), { status: 400 })

  const { data } = (await manage('GET', '/requests?size=100')).json
  const proxied = data.filter(({ kind }: { kind: string }) => kind === 'proxy')
  t.match(
    proxied.filter(({ tokens }: { tokens: number }) => tokens === 1),
    ['DELETE', 'PATCH', 'PUT', 'POST'].map((method) => ({
      method,
      host: 'demo.sidevault.test',
      outcome: 'forwarded',
      node: 'gateway-0',
      trace_id: `trace-${method}-19`,
      stages: { use: Number },
    })),
    '"the ring of all processes of this node"',
  )
  t.ok(data.some(({ kind, node }: { kind: string; node: string }) => kind === 'api' && node === 'admin'))
  t.notMatch(JSON.stringify(data), /sub.path|q=1|through/)

  const [{ application, rules }] = proxied.filter(({ tokens }: { tokens: number }) => tokens === 1)
  const access = (await manage('GET', `/tokens/${id}/access?size=100`)).json.data.find(
    (one: { permission: string; application: { id: string } }) =>
      one.permission === 'token:use' && one.application.id === application.id,
  )
  const { disclosure, rule } = access
  t.match(rules, [
    {
      permission: 'token:use',
      disclosure,
      tokens: 1,
      ...(rule === null ? { priority: undefined } : { priority: rule.priority, container: rule.container }),
    },
  ])
  t.equal(rules.length, 1)
  const destinations = (await manage('GET', '/requests/destinations')).json
  t.match(destinations, { since: /^20/, data: [{ host: 'demo.sidevault.test', calls: 4, tokens: 4 }] })
})
