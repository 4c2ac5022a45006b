/**
 * Routes of the forward proxy: of CONNECT, and of the requests inside its tunnels (envoy/README.md, "Forward proxy").
 */
import { tunneledClusters } from './destinations.ts'
import { TUNNEL_MS } from './limits.ts'
import type { Settings } from './options.ts'
import { CLUSTERS, ROUTES } from './route-names.ts'
import {
  holdRoute,
  inPieces,
  metadata,
  releasedRoutes,
  streamLimit,
  waiting,
  withoutGateway,
} from './routes.ts'

/** Names of the two route configurations. */
export const CONNECT_ROUTES = 'forward_outer'
export const TUNNELED_ROUTES = 'forward_inner'

/** Seconds without a byte after which a tunnel that we do not open is closed. */
const IDLE_TIMEOUT = '3600s'

const terminated = { upgrade_configs: [{ upgrade_type: 'CONNECT', connect_config: {} }] }

const toTunnel = (name: string, cluster: string, connect: 'open' | 'tunnel') => ({
  name,
  match: {
    connect_matcher: {},
    dynamic_metadata: [metadata('connect', { string_match: { exact: connect } })],
  },
  route: {
    cluster,
    timeout: '0s',
    idle_timeout: IDLE_TIMEOUT,
    // An opened one ends by `max_connection_duration` inside, behind its last response.
    ...(connect === 'tunnel' ? streamLimit(TUNNEL_MS) : {}),
    ...terminated,
  },
})

/** Routes of CONNECT. Only the gateway's metadata leads anywhere; everything but CONNECT is 403. */
export const connectRoutes = () => ({
  name: CONNECT_ROUTES,
  virtual_hosts: [
    {
      name: 'all',
      domains: ['*'],
      routes: [
        toTunnel(ROUTES.tunnelOpen, CLUSTERS.forwardTls, 'open'),
        toTunnel(ROUTES.tunnelUnopened, CLUSTERS.tunnel, 'tunnel'),
        {
          name: ROUTES.tunnelHold,
          match: { connect_matcher: {} },
          route: { cluster: CLUSTERS.nowhere, ...terminated },
        },
        {
          name: ROUTES.noConnect,
          match: { prefix: '/' },
          direct_response: { status: 403 },
          typed_per_filter_config: {
            'envoy.filters.http.ext_proc':
              withoutGateway.typed_per_filter_config['envoy.filters.http.ext_proc'],
          },
        },
      ],
    },
  ],
})

const LARGEST = Number.MAX_SAFE_INTEGER

/** Methods whose requests rarely have a body: one without a length is then none. */
const BODILESS = 'GET|HEAD|DELETE|OPTIONS'

/** Envoy removes the header from requests that are no upgrade. */
const WEBSOCKET = { name: 'upgrade', string_match: { exact: 'websocket', ignore_case: true } }

/** Bodies that come in pieces: longer than what is buffered, or of unknown length. */
const streamed = (bodyLimit: number) => [
  [{ name: 'content-length', range_match: { start: bodyLimit + 1, end: LARGEST } }],
  [
    { name: 'content-length', present_match: true, invert_match: true },
    { name: ':method', string_match: { safe_regex: { regex: BODILESS } }, invert_match: true },
  ],
]

/** Routes of the requests inside tunnels: as those of `/proxy`, without any to the API. */
export const tunneledRoutes = (settings: Settings) => ({
  name: TUNNELED_ROUTES,
  virtual_hosts: [
    {
      name: 'all',
      domains: ['*'],
      routes: [
        ...releasedRoutes(settings, tunneledClusters(settings), settings.prefixes.slice(0, 1)),
        holdRoute(settings),
        // Before those of streams: no route may ask for the frames.
        { name: ROUTES.pending, match: { prefix: '/', headers: [WEBSOCKET] }, ...waiting(settings) },
        ...streamed(settings.bodyLimit).map((headers) => ({
          name: ROUTES.stream,
          match: { prefix: '/', headers },
          route: { cluster: CLUSTERS.nowhere },
          ...inPieces,
        })),
        { name: ROUTES.pending, match: { prefix: '/' }, ...waiting(settings) },
      ],
    },
  ],
})
