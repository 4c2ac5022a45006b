import t from 'tap'
import { loadOperations } from '../../src/commands/operations.ts'
import { requestOf } from '../kit/callers.ts'
import { startOutside } from '../kit/outside.ts'
import { sampleOf } from '../kit/samples.ts'
import { ALL_TOKEN_PERMISSIONS } from '../kit/sidevault.ts'

/** Clients of another header prefix (completions §1) get responses under it, and under no other. */

const { sidevault: vault } = await startOutside()

interface Sent {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A call of a library for the other prefix; the headers of each response are checked. */
const client =
  (key: string) =>
  async (method: string, path: string, sent: Sent = {}) => {
    const traceId = `trace-${method}-${path.length}`
    const response = await vault.call(method, path, {
      ...sent,
      headers: { 'BT-API-KEY': key, 'BT-TRACE-ID': traceId, 'user-agent': 'a-client/1.0', ...sent.headers },
    })
    if (response.headers.get('bt-trace-id') !== traceId)
      throw new Error(`${method} ${path}: another trace id`)
    if ([...response.headers.keys()].some((name) => name.startsWith('svc-')))
      throw new Error(`${method} ${path}: a header of another prefix`)
    return response
  }

const manage = client(vault.managementKey)
const use = client(await vault.application({ permissions: ALL_TOKEN_PERMISSIONS }))

t.test('every operation, with a slash at its end', async (t) => {
  const operations = await loadOperations({ plugins: ['*'], pluginBases: [], pluginConfig: {} })
  for (const operation of operations.filter(({ rpc }) => rpc !== 'Tenants.Delete')) {
    const input = sampleOf(operation.input as object) as Record<string, unknown>
    const { method, path, body } = requestOf(operation, input)
    const call = operation.permission.startsWith('token:') ? use : manage
    const { json } = await call(method, path.replace(/(?=\?|$)/, '/'), body === undefined ? {} : { body })
    t.not(json?.code, 'not_found', operation.rpc)
  }
})

t.test('an idempotency key, and a query with brackets', async (t) => {
  const body = { data: 'once', metadata: { color: 'red' } }
  const sent = { body, headers: { 'BT-IDEMPOTENCY-KEY': 'order-1' } }
  const { json } = await use('POST', '/tokens', sent)
  t.type(json.id, 'string')
  t.strictSame((await use('POST', '/tokens', sent)).json, json)
  t.strictSame((await use('GET', '/tokens/?metadata[color]=red')).json.data, [json])
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
  t.match(await use('POST', '/proxy', { body: { value: '{{ none }}' }, headers }), {
    status: 400,
    json: { proxy_error: { title: String, detail: String } },
  })
  t.equal((await use('POST', '/proxy?bt-proxy-key=1111111111111111111111', { body: {} })).status, 404)
  t.equal((await use('POST', '/proxy', { body: {} })).status, 400)

  const listed = async () => (await manage('GET', '/requests?size=100')).json.data
  let data = await listed()
  // Envoy says a moment later how calls ended.
  while (data.some(({ outcome }: { outcome: string }) => outcome === 'sent')) data = await listed()
  const proxied = data.filter(({ kind }: { kind: string }) => kind === 'proxy')
  t.match(
    proxied.filter(({ tokens }: { tokens: number }) => tokens === 1),
    ['DELETE', 'PATCH', 'PUT', 'POST'].map((method) => ({
      method,
      host: 'demo.sidevault.test',
      outcome: 'answered',
      status: 200,
      response_complete: true,
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
