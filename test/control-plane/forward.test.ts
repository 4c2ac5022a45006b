import t from 'tap'
import { renderBootstrap } from '../../src/control-plane/bootstrap.ts'
import type { BootstrapOptions } from '../../src/control-plane/options.ts'
import { createDestinationCheck } from '../../src/egress/check-destination.ts'
import { parseHostPattern } from '../../src/egress/host-pattern.ts'
import { createSnapshot } from '../kit/envoy.ts'

const OPTIONS: BootstrapOptions = {
  listen: { host: '127.0.0.1', port: 8080 },
  gatewaySockets: ['gateway.sock'],
  apiSocket: 'api.sock',
  envoyAdminSocket: 'envoy.sock',
  prefixes: ['SVC', 'BT'],
  egress: { allow: [], http: true, trustBundle: 'trust.pem', ownAddresses: [] },
}
const FORWARD = { listen: { host: 'localhost', port: 8090 }, tls: false, hosts: [] }
const on = createSnapshot({ ...OPTIONS, forward: FORWARD })
const off = createSnapshot(OPTIONS)

interface Route {
  readonly name: string
  readonly match: { readonly dynamic_metadata?: readonly object[] }
  readonly route?: { readonly cluster?: string; readonly cluster_header?: string }
}
const routesOf = (name: string): readonly Route[] => {
  const configuration = on.routes.find((each) => each.name === name)
  const hosts = (configuration?.virtual_hosts ?? []) as readonly { readonly routes: readonly Route[] }[]
  return hosts[0]?.routes ?? []
}

t.test('without the forward proxy there is no listener, cluster or extension of it', async (t) => {
  t.same(
    off.listeners.map(({ name }) => name),
    ['edge'],
  )
  t.same(
    off.routes.map(({ name }) => name),
    ['edge'],
  )
  t.notMatch(JSON.stringify(off), /forward_(outer|tls|http|inner)|internal_listener|websocket/)
  const bootstrap = renderBootstrap({ envoyAdminSocket: 'envoy.sock', controlSocket: 'control.sock' })
  t.notMatch(JSON.stringify(bootstrap), /internal_listener|layered_runtime/)
})

t.test('the edge listener is the same with and without the forward proxy', async (t) => {
  const [edge] = on.listeners
  t.same(edge, off.listeners[0])
  t.same(on.routes[0], off.routes[0])
})

t.test('no tenant can bind the name of the default filter chain', async (t) => {
  const names = [...JSON.stringify(on.listeners).matchAll(/"server_names":\["([^"]+)"\]/g)].map(
    ([, name = '']) => name,
  )
  t.equal(names.length, 1)
  const check = createDestinationCheck({ allow: ['0.0.0.0/0'], ports: '*', http: true })
  for (const name of names) {
    for (const host of [name, `*.${name}`, `${name}.`]) t.equal(parseHostPattern(host), undefined, host)
    t.throws(() => check(`https://${name}/v1`), { code: 'invalid_destination' })
  }
})

t.test(
  'in tunnels and at CONNECT only metadata selects a cluster, and no route leads to the API',
  async (t) => {
    for (const name of ['forward_outer', 'forward_inner']) {
      const routes = routesOf(name)
      t.ok(routes.length > 3)
      for (const { name, match, route } of routes) {
        if (match.dynamic_metadata !== undefined || route === undefined) continue
        t.equal(route.cluster, 'nowhere', name)
      }
      t.notMatch(JSON.stringify(routes), /"cluster":"(api|grpc)"/)
    }
  },
)

t.test(
  "a tunnel's identity is hashable and shared once, and its limits lie below the drain time",
  async (t) => {
    const text = JSON.stringify(on.listeners)
    t.notMatch(text, /"envoy\.string"|TRANSITIVE/)
    t.equal(text.match(/"envoy\.hashable_string"/g)?.length, 2)
    const withHost = createSnapshot({
      ...OPTIONS,
      forward: { ...FORWARD, hosts: [{ host: 'api.test', certificate: 'c', key: 'k' }] },
    })
    t.equal(JSON.stringify(withHost.listeners).match(/"envoy\.hashable_string"/g)?.length, 5)
    const seconds = (name: string) => Number(new RegExp(`"${name}":"(\\d+)s"`).exec(text)?.[1])
    t.ok(seconds('max_connection_duration') + seconds('drain_timeout') < 600)
    const limited = [...routesOf('forward_outer'), ...routesOf('forward_inner')].filter(({ route }) =>
      JSON.stringify(route)?.includes('"max_stream_duration":"540s"'),
    )
    t.same(
      limited.map(({ name }) => name),
      ['tunnel_unopened', 'proxy_websocket'],
      'these outlive neither a key nor a certificate',
    )
  },
)
