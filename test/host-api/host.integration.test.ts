import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { AppError } from '../../src/common/errors.ts'
import type { Json } from '../../src/common/json.ts'
import { createCodeScope } from '../../src/egress/code-scope.ts'
import { type CreateSandboxHost, createSandboxHosts, type HostDeps } from '../../src/host-api/host.ts'
import { PROBES } from '../kit/forbidden-addresses.ts'
import { startTestService, testClock } from '../kit/service.ts'

const clock = testClock()
const service = await startTestService(t, { clock })
const { kernel, tenantId, hostApi } = service
const signal = new AbortController().signal

const applicationOf = async (permissions: readonly string[], more: object = {}): Promise<string> => {
  const body = { name: 'x', type: 'private', permissions, ...more }
  return (await service.call('POST', '/applications', { body })).json.id
}

const hostOf = (applicationId: string | undefined, more: Partial<Parameters<CreateSandboxHost>[0]> = {}) =>
  hostApi.createHost({ tenantId, applicationId, traceId: 'trace', depth: 0, ...more })

const rejection = async (response: Promise<unknown>): Promise<string> => {
  try {
    await response
    return 'resolved'
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown
    return thrown.code
  }
}

// biome-ignore lint/suspicious/noExplicitAny: replies of every shape are read
const call = async (host: ReturnType<typeof hostOf>, method: string, ...args: Json[]): Promise<any> =>
  host.call(method, args, signal)

const fetchOf = (host: ReturnType<typeof hostOf>, request: Json) => host.call('fetch', request, signal)

t.test('every member of bt is the operation of that name', async (t) => {
  const all = ['create', 'read', 'update', 'delete', 'use', 'search'].map((verb) => `token:${verb}`)
  const host = hostOf(await applicationOf(all))
  t.ok(host.sdk)
  const { id } = await call(host, 'tokens.create', {
    type: 'token',
    data: { a: 1 },
    metadata: { color: 'red' },
  })
  t.match(await call(host, 'tokens.retrieve', id), { id, type: 'token', metadata: { color: 'red' } })
  t.match(await call(host, 'tokens.update', id, { metadata: { color: 'blue' } }), {
    id,
    metadata: { color: 'blue' },
  })
  for (const filter of [{ id: [id] }, { id }, { id, type: 'token' }])
    t.match(await call(host, 'tokens.list', filter), { pagination: { total_items: 1 }, data: [{ id }] })
  t.match(await call(host, 'tokens.search', { query: 'metadata.color:blue' }), { data: [{ id }] })
  const { a } = await call(host, 'tokenize', { a: 'text' })
  t.match(a, /^[0-9a-f-]{36}$/)
  t.strictSame(await call(host, 'detokenize', [`{{ ${a} }}`, 1]), [null, 1], 'plain token:read masks')
  t.equal(await call(host, 'tokens.delete', id), null)
  t.equal(await rejection(call(host, 'tokens.retrieve', id)), 'token_not_found')
})

t.test('unknown members and invalid arguments are rejected', async (t) => {
  const host = hostOf(await applicationOf(['token:create', 'token:read']))
  for (const [method, ...args] of [
    ['tokens.constructor'],
    ['constructor'],
    ['applications.create', {}],
    ['tokens.retrieve'],
    ['tokens.retrieve', { id: 'x' }],
    ['tokens.create', 'text'],
    ['tokens.update', { id: 'x' }],
  ] as const)
    t.equal(await rejection(host.call(method, args as Json, signal)), 'invalid', method)
  for (const request of [
    'https://good.test/',
    {},
    { url: 1 },
    { url: 'https://good.test/', method: 7 },
    { url: 'https://good.test/', headers: { a: 'b' } },
    { url: 'https://good.test/', body: 7 },
  ])
    t.equal(await rejection(fetchOf(host, request)), 'invalid', JSON.stringify(request))
})

t.test('code without an application has no `bt`', async (t) => {
  const host = hostOf(undefined)
  t.notOk(host.sdk)
  t.equal(await rejection(call(host, 'tokenize', { a: 'b' })), 'forbidden')
})

t.test('permissions, expiry and existence are checked at each call', async (t) => {
  const id = await applicationOf(['token:create'], {
    expires_at: new Date(clock.now() + 60_000).toISOString(),
  })
  const host = hostOf(id)
  t.equal(await rejection(call(host, 'tokenize', 'x')), 'resolved')
  t.equal(await rejection(call(host, 'tokens.search', { query: 'type:token' })), 'forbidden')
  clock.advance(60_001)
  t.equal(await rejection(call(host, 'tokenize', 'x')), 'unauthenticated')
  const deleted = await applicationOf(['token:create'])
  await service.call('DELETE', `/applications/${deleted}`)
  t.equal(await rejection(call(hostOf(deleted), 'tokenize', 'x')), 'unauthenticated')
  const { id: other } = await service.newTenant()
  const mine = await applicationOf(['token:create'])
  t.equal(
    await rejection(call(hostOf(mine, { tenantId: other }), 'tokenize', 'x')),
    'unauthenticated',
    'the tenant wall',
  )
  const management = (await service.call('GET', '/applications?type=management')).json.data[0].id
  t.equal(await rejection(call(hostOf(management), 'tokenize', 'x')), 'unauthenticated')
})

t.test(
  'calls are recorded under the application, with the trace id of the call that ran the code',
  async (t) => {
    const id = await applicationOf(['token:create'])
    const token = await call(hostOf(id, { traceId: 'trace-of-caller' }), 'tokenize', {
      type: 'token',
      data: 'x',
    })
    const rows = await service.call('GET', `/logs?entity_id=${token.id}`)
    t.match(rows.json.data, [{ operation: 'create', actor_id: id, actor_type: 'application' }])
    t.match(await service.store.logs.find(tenantId, token.id), [{ trace_id: 'trace-of-caller' }])
  },
)

const counting = (deps: Partial<HostDeps> = {}) => {
  const depths: number[] = []
  const create = createSandboxHosts({
    operations: kernel.registry.operations,
    invokeAs: async (_application, _operation, _input, { depth }) => {
      depths.push(depth)
      return {}
    },
    fetch: async ({ url }) => ({
      status: 200,
      statusText: '',
      url,
      redirected: false,
      headers: [],
      body: Buffer.from('ä'),
    }),
    ...deps,
  })
  return { depths, host: (depth: number) => create({ tenantId, applicationId: 'a', traceId: 't', depth }) }
}

t.test('an invocation may make 50 requests and 1,000 calls; the next has its own budget', async (t) => {
  const { host } = counting()
  const first = host(0)
  const request = { url: 'https://good.test/' }
  for (let count = 0; count < 50; count++) await fetchOf(first, request)
  t.equal(await rejection(fetchOf(first, request)), 'rate_limited')
  for (let count = 0; count < 1_000; count++) await call(first, 'tokens.list')
  t.equal(await rejection(call(first, 'tokens.list')), 'rate_limited')
  t.match(await fetchOf(host(0), request), { status: 200, base64: Buffer.from('ä').toString('base64') })
})

t.test('of the concurrent calls of an invocation, a few run at once', async (t) => {
  let running = 0
  let most = 0
  const { host } = counting({
    invokeAs: async () => {
      running++
      most = Math.max(most, running)
      for (let i = 0; i < 20; i++) await turn()
      running--
      return {}
    },
  })
  const invocation = host(0)
  await Promise.all(Array.from({ length: 60 }, () => call(invocation, 'tokens.list')))
  t.equal(most, 4)
})

t.test('nested runs of code are limited in depth', async (t) => {
  const { host, depths } = counting()
  for (const depth of [0, 1, 2, 3]) await call(host(depth), 'reactors.react', 'id')
  t.same(depths, [1, 2, 3, 4])
  t.equal(await rejection(call(host(4), 'reactors.react', 'id')), 'forbidden')
  t.equal(await rejection(call(host(4), 'tokens.list')), 'resolved')
})

t.test('code reaches the network through the egress guard only', async (t) => {
  const host = hostOf(undefined)
  for (const url of ['http://example.com/', ...PROBES.map((host) => `https://${host}/`)])
    t.equal(await rejection(fetchOf(host, { url })), 'destination_not_allowed', url)
})

t.test(
  'code with a limited token sends requests to its destinations only, and calls no reactor',
  async (t) => {
    const requested: string[] = []
    const create = createSandboxHosts({
      operations: kernel.registry.operations,
      invokeAs: async (_application, operation, _input, { code }) => {
        if (operation.rpc === 'Tokens.Get') code?.limit([{ host: 'a.test', ports: [443] }])
        return { data: 1 }
      },
      fetch: async ({ url, check }) => {
        const { hostname: host, pathname: path } = new URL(url)
        check?.({ host, port: 443, method: 'GET', path })
        requested.push(url)
        return { status: 200, statusText: 'OK', url, redirected: false, headers: [], body: Buffer.alloc(0) }
      },
    })
    const to = { host: 'a.test', port: 443, method: 'POST', path: '/' }
    for (const scope of [createCodeScope(to), undefined]) {
      requested.splice(0)
      const host = create({ tenantId, applicationId: 'a', traceId: 't', depth: 0, scope })
      await fetchOf(host, { url: 'https://b.test/' })
      await call(host, 'reactors.react', 'r', {})
      await call(host, 'tokens.retrieve', 'token')
      t.equal(await rejection(fetchOf(host, { url: 'https://b.test/' })), 'destination_not_allowed')
      t.equal(await rejection(call(host, 'reactors.react', 'r', {})), 'destination_not_allowed')
      await fetchOf(host, { url: 'https://a.test/' })
      t.same(requested, ['https://b.test/', 'https://a.test/'])
    }
  },
)
