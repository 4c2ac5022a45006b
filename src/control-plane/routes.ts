/** Where a request goes. The order is the security property: see envoy/README.md, "Routes". */
import { CLIENT_ADDRESS_HEADER } from '../common/rate-limiter.ts'
import {
  CLUSTER_HEADER,
  METADATA,
  PROXY_METHODS,
  prefixHeaders,
  type Upstream,
} from '../ext-proc/contract.ts'
import { destinationClusters } from './destinations.ts'
import { COPIES } from './early-header-mutation.ts'
import { PIECES_BYTES } from './limits.ts'
import { duration, type Settings } from './options.ts'
import { RECONNECT } from './retry-policy.ts'
import { CLUSTERS, ROUTES } from './route-names.ts'

const PER_ROUTE = 'type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute'

const withoutGateway = {
  typed_per_filter_config: { 'envoy.filters.http.ext_proc': { '@type': PER_ROUTE, disabled: true } },
}

const metadata = (key: string, value: object) => ({ filter: METADATA, path: [{ key }], value })

/** The body goes to the gateway as it comes, and on as the gateway gives it: chosen here, before any of it is sent. */
const inPieces = {
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
          response_trailer_mode: 'SKIP',
        },
      },
    },
  },
}

/** A stream that stands still this long, in both directions, is given up; server-sent events may be quiet for minutes. */
const QUIET_MS = 300_000

/** `cluster`: undefined where a header names it. */
const released = (
  settings: Settings,
  { upstream, cluster }: { readonly upstream: string; readonly cluster?: string | undefined },
  prefix: string,
) => {
  const own = prefixHeaders(prefix)
  const foreign = settings.prefixes
    .filter((other) => other !== prefix)
    .map((other) => prefixHeaders(other).destinationStatus)
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
      // The whole response may take as long as it likes; its start may not.
      timeout: '0s',
      idle_timeout: duration(QUIET_MS),
      retry_policy: {
        num_retries: 0,
        per_try_timeout: duration(settings.destinationTimeoutMs),
      },
    },
  }
}

/**
 * The time that a request may stay on a route, counted from its beginning: the next route has its own. A gRPC caller's
 * own deadline holds when it is shorter.
 */
const within = (ms: number) => ({
  max_stream_duration: { max_stream_duration: duration(ms), grpc_timeout_header_max: duration(ms) },
})

/** Where a request waits whose body is wanted whole. */
const waiting = ({ requestTimeoutMs, bodyLimit }: Settings) => ({
  request_body_buffer_limit: bodyLimit,
  route: { cluster: CLUSTERS.nowhere, ...within(requestTimeoutMs) },
})

/** To the admin process. */
const ours = (cluster: string, { apiTimeoutMs, requestTimeoutMs }: Settings) => ({
  cluster,
  timeout: duration(apiTimeoutMs),
  ...within(requestTimeoutMs + apiTimeoutMs),
  retry_policy: RECONNECT,
})

/** Name of the edge listener's routes. */
export const EDGE_ROUTES = 'edge'

/** Its `RouteConfiguration`. */
export const routes = (settings: Settings) => {
  const ways = Object.entries(destinationClusters(settings))
  const upstreams = [
    ...ways.map(([upstream, cluster]) => ({ upstream, cluster })),
    { upstream: 'tls' satisfies Upstream },
  ]
  // Unless Envoy sets it, it is the caller's, and means nothing.
  const notForApi = settings.clientAddress ? COPIES : [...COPIES, CLIENT_ADDRESS_HEADER]
  return {
    name: EDGE_ROUTES,
    virtual_hosts: [
      {
        name: 'all',
        domains: ['*'],
        routes: [
          ...settings.prefixes.flatMap((prefix) => upstreams.map((way) => released(settings, way, prefix))),
          {
            name: ROUTES.hold,
            match: { prefix: '/', dynamic_metadata: [metadata('active', { bool_match: true })] },
            ...waiting(settings),
          },
          {
            name: ROUTES.method,
            match: {
              path_separated_prefix: '/proxy',
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
          },
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
          {
            name: ROUTES.connect,
            match: { connect_matcher: {} },
            direct_response: { status: 405 },
            ...withoutGateway,
          },
          // Behind the proxy's routes: a gRPC call to a destination is the proxy's.
          ...(settings.grpcSocket === undefined
            ? []
            : [
                {
                  name: ROUTES.grpc,
                  match: { prefix: '/', grpc: {} },
                  request_headers_to_remove: notForApi,
                  route: ours(CLUSTERS.grpc, settings),
                  ...withoutGateway,
                },
              ]),
          {
            name: ROUTES.api,
            match: { prefix: '/' },
            request_headers_to_remove: notForApi,
            route: ours(CLUSTERS.api, settings),
            ...withoutGateway,
          },
        ],
      },
    ],
  }
}
