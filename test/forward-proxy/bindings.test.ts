import t from 'tap'
import type { Eventual } from '../../src/common/eventual.ts'
import { createBindings } from '../../src/forward-proxy/bindings.ts'
import type { Caller, DestinationList, StoredProxy } from '../../src/sdk/index.ts'

const proxy = (id: string, path: string, port = 443): StoredProxy => ({
  id,
  tenantId: 'a',
  destinationUrl: '',
  requireAuth: true,
  configuration: {},
  intercept: { host: 'api.example.com', port, path },
})
const caller = (tenantId = 'a'): Caller => ({
  tenantId,
  actorId: 'app',
  actorType: 'application',
  applicationId: 'app',
  applicationType: 'private',
  grants: { permissions: ['token:use'], rules: [] },
})

const bindingsOf = (
  proxies: readonly StoredProxy[],
  unbound: Readonly<Record<string, string>> = {},
  ports: readonly number[] | '*' = [443],
  whenOpened: (host: string) => Eventual<void> = () => {},
) =>
  createBindings({
    proxies: {
      intercepting: (tenantId, host) =>
        proxies.filter((proxy) => proxy.tenantId === tenantId && proxy.intercept?.host === host),
    },
    tenants: {
      get: async (id) => ({
        id,
        owner_id: '',
        name: '',
        created_at: 0,
        settings: unbound[id] ? { unbound_destinations: unbound[id] } : {},
      }),
    },
    ports: () => ports,
    whenOpened,
  })

t.test('CONNECT is allowed where a stored proxy of the tenant intercepts host and port', async (t) => {
  const { connect } = bindingsOf([proxy('p', '/v1')], { b: 'tunnel' }, [443, 9000])
  t.equal(await connect(caller(), 'api.example.com', 443), 'open')
  t.equal(await connect(caller(), 'api.example.com', 8443), 'deny', 'another port')
  t.equal(await connect(caller(), 'a.api.example.com', 443), 'deny', 'another host')
  t.equal(await connect(caller('c'), 'api.example.com', 443), 'deny', 'another tenant')
  t.equal(await connect(caller('b'), 'api.example.com', 443), 'tunnel', 'where the setting is tunnel')
  t.equal(await connect(caller('b'), 'api.example.com', 9000), 'tunnel', 'to the ports of destinations')
  t.equal(await connect(caller('b'), 'api.example.com', 22), 'deny', 'to no other port')
  const any = bindingsOf([], { b: 'tunnel' }, '*')
  t.equal(await any.connect(caller('b'), 'api.example.com', 22), 'tunnel')
})

t.test('CONNECT to a bound host waits until Envoy opens it', async (t) => {
  const opened = Promise.withResolvers<void>()
  const hosts: string[] = []
  const { connect } = bindingsOf([proxy('p', '')], { a: 'tunnel' }, [443], (host) => {
    hosts.push(host)
    return opened.promise
  })
  const outcomes: string[] = []
  const connecting = connect(caller(), 'api.example.com', 443)
  const recording = Promise.resolve(connecting).then((binding) => outcomes.push(binding))
  outcomes.push(await connect(caller(), 'free.example.com', 443))
  opened.resolve()
  await recording
  t.same(outcomes, ['tunnel', 'open'])
  t.same(hosts, ['api.example.com'])
})

t.test('the longest prefix wins, by segments', async (t) => {
  const { request } = bindingsOf([proxy('root', ''), proxy('v1', '/v1'), proxy('charges', '/v1/charges')])
  const bound = async (path: string) => {
    const binding = await request(caller(), 'api.example.com', 443, path)
    return typeof binding === 'object' && 'proxy' in binding ? [binding.proxy.id, binding.rest] : binding
  }
  t.same(await bound('/'), ['root', '/'])
  t.same(await bound('/v12/a'), ['root', '/v12/a'], 'not by characters')
  t.same(await bound('/v1'), ['v1', ''])
  t.same(await bound('/v1/'), ['v1', '/'])
  t.same(await bound('/v1?a=/v1/charges'), ['v1', ''])
  t.same(await bound('/v1/charges/7?a=b'), ['charges', '/7'])
  t.same(await bound('/v1/%63harges/%7e'), ['charges', '/%7e'], 'unreserved characters are decoded')
  t.same(await bound('/V1/charges'), ['root', '/V1/charges'])
  t.same(await bound('/v1/charges/{{ id }}'), ['charges', '/{{ id }}'])
  t.equal(await request(caller('c'), 'api.example.com', 443, '/v1'), undefined)
  t.equal(await request(caller(), 'api.example.com', 8443, '/v1'), undefined)
})

t.test("other paths of a stored proxy's host have their body evaluated, without the proxy", async (t) => {
  const { request } = bindingsOf([proxy('charges', '/v1/charges'), proxy('other', '/v1', 8443)])
  for (const path of ['/', '/v1', '/v1/refunds', '/v1/chargesx'])
    t.same(await request(caller(), 'api.example.com', 443, path), { surfaces: ['body'] }, path)
  t.same(await request(caller(), 'api.example.com', 8443, '/'), { surfaces: ['body'] })
  t.equal(await request(caller('c'), 'api.example.com', 443, '/'), undefined, 'of the tenant alone')
  t.equal(await request(caller(), 'api.example.com', 443, '/x/../v1/charges'), 'ambiguous')
})

t.test('a path that a server may read as one under another prefix is denied', async (t) => {
  const { request } = bindingsOf([proxy('root', ''), proxy('charges', '/v1/charges')])
  const alone = bindingsOf([proxy('root', '')])
  for (const path of [
    '//v1/charges',
    '/v1//charges',
    '/v1%2Fcharges',
    '/v1%5ccharges',
    '/v1\\charges',
    '/x/../v1/charges',
    '/x/%2e%2e/v1/charges',
    '/x/..;a=b/v1/charges',
    '/./v1/charges',
    '/v1/%zzcharges',
    '/v1/{{ id }}',
    '/{{ id }}/charges',
    '/v1/ch{{ id }}',
    '/v1/%7B%7B id %7D%7D',
    '/v1/%2563harges',
    '/v1;a=b/charges',
    '/v1%3Ba=b/charges',
    '/v1%00/charges',
    '/v1%20/charges',
    '/v1%09/charges',
    '/v1%0a/charges',
    '/v1%0D/charges',
    '/v1/{%7B id %7D%7D',
    '/v1/charges;a=b',
    '/x/../v1/%63harges',
  ]) {
    t.equal(await request(caller(), 'api.example.com', 443, path), 'ambiguous', path)
    t.match(await alone.request(caller(), 'api.example.com', 443, path), { proxy: { id: 'root' } }, path)
  }
  for (const path of ['/v1/charges//x', '/v1/charges/a%2Fb', '/v1/charges/100%25'])
    t.match(await request(caller(), 'api.example.com', 443, path), { proxy: { id: 'charges' } }, path)
  t.match(await request(caller(), 'api.example.com', 443, '/v2/{{ id }}'), { proxy: { id: 'root' } })
})

t.test('destinations of the application and of its rules bind, with their surfaces combined', async (t) => {
  const bindings = bindingsOf([proxy('v1', '/v1')])
  const rule = (...destinations: DestinationList) => ({
    description: 'r',
    priority: 1,
    container: '/',
    transform: 'reveal' as const,
    permissions: ['token:use' as const],
    destinations,
  })
  const of = (destinations: DestinationList, rules: Caller['grants']['rules'] = []): Caller => ({
    ...caller(),
    grants: { permissions: ['token:use'], rules, destinations: [destinations] },
  })
  const wide = of(
    [{ host: '*.example.com', ports: [443, 8443], surfaces: ['header:authorization'] }],
    [
      rule({ host: 'api.example.com', ports: [443], path: '/v9/**' }),
      rule({ host: 'b.test', ports: [443], surfaces: ['query:key'] }),
    ],
  )
  const surfaces = async (host: string, port: number, path: string) => {
    const binding = await bindings.request(wide, host, port, path)
    if (typeof binding !== 'object') return binding
    return 'surfaces' in binding ? binding.surfaces : binding.proxy.id
  }
  t.equal(await bindings.connect(wide, 'a.example.com', 8443), 'open')
  t.equal(await bindings.connect(wide, 'b.test', 443), 'open', 'by a rule')
  for (const [host, port] of [
    ['example.com', 443],
    ['a.b.example.com', 443],
    ['a.example.com', 9443],
    ['b.test', 8443],
  ] as const)
    t.equal(await bindings.connect(wide, host, port), 'deny', `${host}:${port}`)
  t.equal(await bindings.connect(caller(), 'a.example.com', 443), 'deny', 'without destinations')
  t.same(await surfaces('a.example.com', 443, '/'), ['header:authorization'])
  t.same(await surfaces('api.example.com', 443, '/v2'), ['header:authorization', 'body'], 'together')
  t.same(await surfaces('b.test', 443, '/'), ['query:key'])
  t.equal(await surfaces('api.example.com', 443, '/v1/x'), 'v1', 'the stored proxy decides below its prefix')
  t.equal(await surfaces('api.example.com', 443, '/v1//x'), 'v1')
  t.equal(await surfaces('api.example.com', 443, '//v1/x'), 'ambiguous', 'not to be evaded')
  const address = of([{ host: '2001:db8::7', ports: [443] }])
  t.equal(await bindings.connect(address, '[2001:db8::7]', 443), 'open')
})
