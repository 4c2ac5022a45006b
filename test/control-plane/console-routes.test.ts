import t from 'tap'
import { PASSED_HEADERS } from '../../src/common/console.ts'
import type { BootstrapOptions } from '../../src/control-plane/options.ts'
import { createSnapshot } from '../kit/envoy.ts'

const OPTIONS: BootstrapOptions = {
  listen: { host: '127.0.0.1', port: 8080 },
  gatewaySockets: ['run/gateway-0.sock'],
  apiSocket: 'run/api.sock',
  envoyAdminSocket: 'run/envoy.sock',
  prefixes: ['SVC', 'BT'],
  egress: { allow: [], http: true, trustBundle: 'run/trust.pem' },
}

interface Route {
  readonly name: string
  readonly match: object
  readonly typed_per_filter_config?: Readonly<Record<string, unknown>>
}

const routesOf = (options: Partial<BootstrapOptions>): readonly Route[] => {
  const [config] = createSnapshot({ ...OPTIONS, ...options }).routes as unknown as [
    { virtual_hosts: [{ routes: Route[] }] },
  ]
  return config.virtual_hosts[0].routes
}

const MUTATION = 'envoy.filters.http.header_mutation'

/** JSON of the changes to the headers of responses. */
const mutationOf = (routes: readonly Route[]): string =>
  JSON.stringify(
    routes.find((route) => route.typed_per_filter_config?.[MUTATION])?.typed_per_filter_config?.[MUTATION],
  )

t.test('there are no console routes without the console', (t) => {
  t.notMatch(JSON.stringify(routesOf({})), /console/)
  t.end()
})

t.test('console routes keep the order of other routes, and all guard their responses', (t) => {
  const [without, routes] = [routesOf({}), routesOf({ console: true })]
  const isOwn = (route: Route) => !without.some((other) => JSON.stringify(other) === JSON.stringify(route))
  const own = routes.filter(isOwn)
  t.same(
    routes.filter((route) => !isOwn(route)),
    without,
    'the others keep their order',
  )
  t.same(
    own.map(({ name }) => name),
    [
      ...['svc', 'bt'].flatMap(() => ['proxy_console_https', 'proxy_console_http', 'proxy_console_tls']),
      'proxy_hold',
      'proxy_method',
      'proxy_pending',
    ],
  )
  for (const { name, typed_per_filter_config } of own) t.ok(typed_per_filter_config?.[MUTATION], name)
  const at = (match: RegExp) => routes.findIndex((route) => match.test(JSON.stringify(route)))
  t.ok(at(/proxy_console_https/) > at(/"name":"proxy_hold"/), 'behind those of /proxy, which cost no more')
  t.ok(
    at(/"name":"proxy_hold".*console/) < at(/"name":"proxy_method"/),
    'before paths: destinations choose theirs',
  )
  t.ok(at(/console\/api\/proxy/) < at(/"name":"api"/))
  t.end()
})

t.test('the pattern of removed headers matches all but those that pass', (t) => {
  const [, pattern] = /"regex":("(?:[^"\\]|\\.)*")/.exec(mutationOf(routesOf({ console: true }))) ?? []
  const isRemoved = new RegExp(`^(?:${JSON.parse(pattern ?? '')})$`, 's')
  for (const name of [...PASSED_HEADERS, ':status', 'x-', 'x-anything', 'svc-trace-id', 'bt-trace-id'])
    t.notMatch(name, isRemoved)
  const near = PASSED_HEADERS.flatMap((name) => [`${name}s`, `x${name}`, name.slice(0, -1), name.slice(1)])
  for (const name of [
    ...near,
    'set-cookie',
    'location',
    'svc',
    'x',
    'b',
    'sx-',
    'content-security-policy',
    '',
  ])
    if (!PASSED_HEADERS.includes(name) && !name.startsWith('x-')) t.match(name, isRemoved, name)
  t.end()
})
