/** Routes. Their order is a security property: see envoy/README.md, "Routes". */
import { CLIENT_ADDRESS_HEADER } from '../common/rate-limiter.ts'
import {
  CLUSTER_HEADER,
  METADATA,
  PROXY_METHODS,
  prefixHeaders,
  type Upstream,
  type WebSocketUpstream,
} from '../ext-proc/contract.ts'
import { destinationClusters } from './destinations.ts'
import { COPIES } from './early-header-mutation.ts'
import { PIECES_BYTES, TUNNEL_MS } from './limits.ts'
import { duration, type Settings } from './options.ts'
import { RECONNECT } from './retry-policy.ts'
import { CLUSTERS, ROUTES } from './route-names.ts'

const FILTER = 'type.googleapis.com/envoy.config.route.v3.FilterConfig'
const PER_ROUTE = 'type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute'

/**
 * For requests that match at their first route choice: Envoy then creates neither the filter of the gateway nor the one
 * for destinations' responses.
 */
export const withoutGateway = {
  typed_per_filter_config: {
    'envoy.filters.http.ext_proc': { '@type': FILTER, disabled: true },
    'envoy.filters.http.custom_response': { '@type': FILTER, disabled: true },
  },
}

export const metadata = (key: string, value: object) => ({ filter: METADATA, path: [{ key }], value })

/** Streams the body through the gateway. Set on the route, before anything is sent to the gateway. */
export const inPieces = {
  typed_per_filter_config: {
    'envoy.filters.http.ext_proc': {
      '@type': PER_ROUTE,
      overrides: {
        processing_mode: {
          request_header_mode: 'SEND',
          request_body_mode: 'FULL_DUPLEX_STREAMED',
          request_trailer_mode: 'SEND',
          response_header_mode: 'SKIP',
          response_body_mode: 'NONE',
          response_trailer_mode: 'SEND',
        },
      },
    },
  },
}

/** Idle timeout of a stream in both directions; server-sent events may pause for minutes. */
const IDLE_TIMEOUT_MS = 300_000

/** Route to a destination. `cluster`: undefined when a header selects it. */
const released = (
  settings: Settings,
  { upstream, cluster }: { readonly upstream: string; readonly cluster?: string | undefined },
  prefix: string,
) => {
  const own = prefixHeaders(prefix)
  const foreign = settings.prefixes
    .filter((other) => other !== prefix)
    .map(prefixHeaders)
    .flatMap(({ destinationStatus, outcome }) => [destinationStatus, outcome])
  return {
    name: `proxy_${upstream}`,
    match: {
      prefix: '/',
      dynamic_metadata: [
        metadata('upstream', { string_match: { exact: upstream } }),
        metadata('prefix', { string_match: { exact: prefix } }),
      ],
    },
    request_body_buffer_limit: upstream.startsWith('dialed') ? PIECES_BYTES : settings.bodyLimit,
    ...(cluster === undefined ? { request_headers_to_remove: [CLUSTER_HEADER] } : {}),
    response_headers_to_remove: [...settings.prefixes.map((each) => prefixHeaders(each).traceId), ...foreign],
    response_headers_to_add: [
      {
        header: { key: own.traceId, value: `%REQ(${own.traceId})%` },
        append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
      },
    ],
    route: {
      ...(cluster === undefined ? { cluster_header: CLUSTER_HEADER } : { cluster }),
      // No timeout for the complete response; `per_try_timeout` limits its start.
      timeout: '0s',
      idle_timeout: duration(IDLE_TIMEOUT_MS),
      ...(upstream === ('websocket' satisfies WebSocketUpstream) ? streamLimit(TUNNEL_MS) : {}),
      retry_policy: {
        num_retries: 0,
        per_try_timeout: duration(settings.destinationTimeoutMs),
      },
    },
  }
}

/**
 * Time limit of a request on a route, from its start; another route has its own limit. A shorter deadline of a gRPC
 * caller applies.
 */
export const streamLimit = (ms: number) => ({
  max_stream_duration: { max_stream_duration: duration(ms), grpc_timeout_header_max: duration(ms) },
})

/** Route for a request whose body is being buffered. */
export const waiting = ({ requestTimeoutMs, bodyLimit }: Settings) => ({
  request_body_buffer_limit: bodyLimit,
  route: { cluster: CLUSTERS.nowhere, ...streamLimit(requestTimeoutMs) },
})

/** Route to the admin process. */
const toAdmin = (cluster: string, { apiTimeoutMs, requestTimeoutMs }: Settings) => ({
  cluster,
  timeout: duration(apiTimeoutMs),
  ...streamLimit(requestTimeoutMs + apiTimeoutMs),
  retry_policy: RECONNECT,
})

/** Routes to destinations. `start`: of the names of their upstreams. */
export const releasedRoutes = (
  settings: Settings,
  clusters: Readonly<Record<string, string>>,
  prefixes: readonly string[],
  start: '' | 'console_' = '',
) => {
  const upstreams = [
    ...Object.entries(clusters).map(([upstream, cluster]) => ({ upstream: `${start}${upstream}`, cluster })),
    { upstream: `${start}${'tls' satisfies Upstream}` },
  ]
  return prefixes.flatMap((prefix) => upstreams.map((upstream) => released(settings, upstream, prefix)))
}

/** Route of a request that the gateway holds. */
export const holdRoute = (settings: Settings) => ({
  name: ROUTES.hold,
  match: { prefix: '/', dynamic_metadata: [metadata('active', { bool_match: true })] },
  ...waiting(settings),
})

/** 405 for methods that the proxy does not take. */
export const methodRoute = (path: string) => ({
  name: ROUTES.method,
  match: {
    path_separated_prefix: path,
    headers: [
      {
        name: ':method',
        string_match: { safe_regex: { regex: PROXY_METHODS.join('|') } },
        invert_match: true,
      },
    ],
  },
  response_headers_to_add: [{ header: { key: 'allow', value: PROXY_METHODS.join(', ') } }],
  direct_response: { status: 405 },
  ...withoutGateway,
})

/** Routes of calls to `/proxy` as they arrive. */
const pendingRoutes = (settings: Settings) => [
  methodRoute('/proxy'),
  ...settings.prefixes.map((prefix) => ({
    name: ROUTES.stream,
    match: {
      path_separated_prefix: '/proxy',
      headers: [
        {
          name: prefixHeaders(prefix).stream,
          string_match: { exact: 'true', ignore_case: true },
        },
      ],
    },
    route: { cluster: CLUSTERS.nowhere },
    ...inPieces,
  })),
  {
    name: ROUTES.pending,
    match: { path_separated_prefix: '/proxy' },
    ...waiting(settings),
  },
]

/** Name of the edge listener's routes. */
export const EDGE_ROUTES = 'edge'

/** Its `RouteConfiguration`. */
export const routes = (
  settings: Settings,
  ofConsole: { readonly released: readonly object[]; readonly pending: readonly object[] },
) => {
  // Unless Envoy sets the address header, it comes from the caller.
  const notForApi = settings.clientAddress ? COPIES : [...COPIES, CLIENT_ADDRESS_HEADER]
  return {
    name: EDGE_ROUTES,
    virtual_hosts: [
      {
        name: 'all',
        domains: ['*'],
        routes: [
          ...releasedRoutes(settings, destinationClusters(settings), settings.prefixes),
          holdRoute(settings),
          ...ofConsole.released,
          ...(settings.proxy === false ? [] : pendingRoutes(settings)),
          ...ofConsole.pending,
          {
            name: ROUTES.connect,
            match: { connect_matcher: {} },
            direct_response: { status: 405 },
            ...withoutGateway,
          },
          // After the proxy's routes: a gRPC call to a destination belongs to the proxy.
          ...(settings.grpcSocket === undefined
            ? []
            : [
                {
                  name: ROUTES.grpc,
                  match: { prefix: '/', grpc: {} },
                  request_headers_to_remove: notForApi,
                  route: toAdmin(CLUSTERS.grpc, settings),
                  ...withoutGateway,
                },
              ]),
          {
            name: ROUTES.api,
            match: { prefix: '/' },
            request_headers_to_remove: notForApi,
            route: toAdmin(CLUSTERS.api, settings),
            ...withoutGateway,
          },
        ],
      },
    ],
  }
}
