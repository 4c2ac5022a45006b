/** Clusters of destinations: names that Envoy resolves, addresses that the gateway resolved, the demo. */
import { createHash } from 'node:crypto'
import { deniedRanges, dialedAddressFilter, resolvedAddressFilter } from '../egress/envoy-filter.ts'
import { IDENTITY_PREFIX, METADATA, type Outcome, prefixHeaders } from '../ext-proc/contract.ts'
import { restoreForwardedProto } from './early-header-mutation.ts'
import { httpProtocol } from './http-protocol.ts'
import {
  BUFFER_BYTES,
  CACHED_HOSTS,
  CONNECTION_WINDOW_BYTES,
  DESTINATION_STREAMS,
  ENVOY_LIMIT,
  STREAM_WINDOW_BYTES,
} from './limits.ts'
import { loadAssignment } from './load-assignment.ts'
import type { ClientCertificate, Settings } from './options.ts'
import { CLUSTERS } from './route-names.ts'

const CLUSTER = 'type.googleapis.com/envoy.extensions.clusters.dynamic_forward_proxy.v3.ClusterConfig'
const CARES = 'type.googleapis.com/envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig'
const MUTATION = 'type.googleapis.com/envoy.extensions.filters.http.header_mutation.v3.HeaderMutation'
const CODEC = 'type.googleapis.com/envoy.extensions.filters.http.upstream_codec.v3.UpstreamCodec'
const TLS = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext'

const KEEP_ALIVE = '60s'
/** Header limits of a destination's response, which bound Envoy's memory. */
const RESPONSE_HEADERS = { max_headers_count: 1_000, max_response_headers_kb: 256 }

/**
 * Queries for one name. c-ares shortens `query_timeout_seconds` to five times the average latency of a name server, at
 * least 250 ms, and doubles it with each try, less a jitter of up to a half: two tries may end after 500 ms, while
 * another tenant's quick names keep the average low. Five last 4 s at least, so that `dns_query_timeout` alone decides.
 */
const DNS_TRIES = 5

/** DNS cache of destination clusters; its address filter is the first egress guard. */
const dnsCacheConfig = ({ egress }: Settings) => ({
  dns_lookup_family: 'V4_PREFERRED',
  dns_query_timeout: '4s',
  dns_min_refresh_rate: '5s',
  dns_refresh_rate: '60s',
  dns_failure_refresh_rate: { base_interval: '1s', max_interval: '5s' },
  host_ttl: '60s',
  max_hosts: CACHED_HOSTS,
  dns_cache_circuit_breaker: { max_pending_requests: ENVOY_LIMIT },
  typed_dns_resolver_config: {
    name: 'envoy.network.dns_resolver.cares',
    typed_config: {
      '@type': CARES,
      ...(egress.resolvers
        ? {
            resolvers: egress.resolvers.map(({ address, port }) => ({
              socket_address: { address, port_value: port },
            })),
            use_resolvers_as_fallback: false,
          }
        : {}),
      dns_resolver_options: { no_default_search_domain: true },
      query_timeout_seconds: 2,
      query_tries: DNS_TRIES,
    },
  },
  resolved_address_filter: resolvedAddressFilter(deniedRanges(egress.allow)),
})

const hashOf = (cluster: object): string =>
  createHash('sha256').update(JSON.stringify(cluster)).digest('hex').slice(0, 12)

/** Envoy rejects a DNS cache with the same name and other settings, so the name contains a hash of the settings. */
const dnsCache = (settings: Settings) => {
  const config = dnsCacheConfig(settings)
  return { name: `egress-${hashOf(config)}`, ...config }
}

const overwrite = (key: string, value: string) => ({
  append: { header: { key, value }, append_action: 'OVERWRITE_IF_EXISTS_OR_ADD' },
})

/** Says that the destination responded, and with which status: over what the destination itself sends there. */
const headerMutation = (prefixes: readonly string[]) => ({
  name: 'envoy.filters.http.header_mutation',
  typed_config: {
    '@type': MUTATION,
    mutations: {
      request_mutations: restoreForwardedProto,
      response_mutations: prefixes
        .map(prefixHeaders)
        .flatMap(({ destinationStatus, outcome, guard }) => [
          { remove: guard },
          overwrite(destinationStatus, '%RESP(:STATUS)%'),
          overwrite(outcome, 'answered' satisfies Outcome),
        ]),
    },
  },
})

export const codec = { name: 'envoy.filters.http.upstream_codec', typed_config: { '@type': CODEC } }

interface TlsOptions {
  /** ALPN of a cluster of HTTP/1.1 only; absent: what the cluster's protocols say. */
  readonly alpn?: readonly string[]
  readonly authorities: { readonly filename: string } | { readonly inline_string: string }
  readonly serverName?: string
  readonly client?: ClientCertificate['client']
}

const tls = ({ authorities, serverName, client, alpn }: TlsOptions) => ({
  name: 'envoy.transport_sockets.tls',
  typed_config: {
    '@type': TLS,
    ...(serverName === undefined ? {} : { sni: serverName }),
    common_tls_context: {
      tls_params: { tls_minimum_protocol_version: 'TLSv1_2' },
      ...(alpn === undefined ? {} : { alpn_protocols: alpn }),
      ...(client === undefined
        ? {}
        : {
            tls_certificates: [
              {
                certificate_chain: { inline_string: client.certificate },
                private_key: { inline_string: client.key },
              },
            ],
          }),
      validation_context: {
        trusted_ca: authorities,
        ...(serverName === undefined
          ? {}
          : {
              match_typed_subject_alt_names: [{ san_type: 'DNS', matcher: { exact: serverName } }],
            }),
      },
    },
  },
})

const HTTP2 = {
  max_concurrent_streams: DESTINATION_STREAMS,
  initial_stream_window_size: STREAM_WINDOW_BYTES,
  initial_connection_window_size: CONNECTION_WINDOW_BYTES,
}

/** Circuit breakers at `ENVOY_LIMIT`. */
export const LIMITS = {
  thresholds: [
    { max_connections: ENVOY_LIMIT, max_pending_requests: ENVOY_LIMIT, max_requests: ENVOY_LIMIT },
  ],
}

const trusted = (
  { egress }: Settings,
  { client, authorities }: Partial<ClientCertificate> = {},
): TlsOptions => ({
  authorities: authorities === undefined ? { filename: egress.trustBundle } : { inline_string: authorities },
  ...(client === undefined ? {} : { client }),
})

/** The second egress guard, on the address that is dialed. */
export const egressGuard = ({ egress, ownAddresses: addresses, ownPorts, listen }: Settings) =>
  dialedAddressFilter(deniedRanges(egress.allow), { addresses, ports: ownPorts ?? [listen.port] })

/** Schemes of destinations; `websocket`: https with HTTP/1.1 only. */
type Scheme = 'https' | 'http' | 'websocket'

const protocols = (scheme: Scheme) => {
  if (scheme === 'http') return { explicit_http_config: { http_protocol_options: {} } }
  const options = { auto_sni: true, auto_san_validation: true }
  return {
    upstream_http_protocol_options: options,
    ...(scheme === 'websocket'
      ? { explicit_http_config: { http_protocol_options: {} } }
      : { auto_config: { http_protocol_options: {}, http2_protocol_options: HTTP2 } }),
  }
}

/** Common settings of clusters of destinations. */
const toDestination = (settings: Settings, scheme: Scheme, identity?: ClientCertificate) => ({
  lb_policy: 'CLUSTER_PROVIDED',
  connect_timeout: '5s',
  per_connection_buffer_limit_bytes: BUFFER_BYTES,
  circuit_breakers: LIMITS,
  typed_extension_protocol_options: httpProtocol({
    common_http_protocol_options: { idle_timeout: KEEP_ALIVE, ...RESPONSE_HEADERS },
    ...protocols(scheme),
    http_filters: [egressGuard(settings), headerMutation(settings.prefixes), codec],
  }),
  ...(scheme === 'http'
    ? {}
    : {
        transport_socket: tls({
          ...trusted(settings, identity),
          ...(scheme === 'websocket' ? { alpn: ['http/1.1'] } : {}),
        }),
      }),
})

const destination = (settings: Settings, scheme: Scheme, identity?: ClientCertificate) => ({
  name: identity?.name ?? CLUSTERS[scheme],
  ...toDestination(settings, scheme, identity),
  cluster_type: {
    name: 'envoy.clusters.dynamic_forward_proxy',
    typed_config: {
      '@type': CLUSTER,
      dns_cache_config: dnsCache(settings),
      ...(scheme === 'http' ? { allow_insecure_cluster_options: true } : {}),
    },
  },
})

/** Connects to the address that the gateway resolved; the egress guard checks it here too. */
const dialed = (settings: Settings, scheme: 'https' | 'http') => ({
  name: CLUSTERS[`dialed_${scheme}`],
  ...toDestination(settings, scheme),
  type: 'ORIGINAL_DST',
  original_dst_lb_config: { metadata_key: { key: METADATA, path: [{ key: 'address' }] } },
})

const demo = (settings: Settings, { socket, authority, host }: NonNullable<Settings['demo']>) => ({
  name: CLUSTERS.demo,
  type: 'STATIC',
  connect_timeout: '1s',
  typed_extension_protocol_options: httpProtocol({
    explicit_http_config: { http_protocol_options: {} },
    http_filters: [headerMutation(settings.prefixes), codec],
  }),
  load_assignment: loadAssignment(CLUSTERS.demo, [socket]),
  transport_socket: tls({ authorities: { filename: authority }, serverName: host }),
})

/**
 * A cluster whose name contains a hash of its settings. When a cluster with DNS is replaced under the same name, some
 * requests find no host: the main thread removes the old one before each worker has the new one. Statistics use the
 * plain name.
 */
const versioned = <T extends { readonly name: string }>(cluster: T, hash = hashOf(cluster)) => ({
  ...cluster,
  name: `${cluster.name}-${hash}`,
  alt_stat_name: cluster.name,
})

/** Hash of the settings only: an identity's name already identifies its certificates. */
const hashOfSettings = (settings: Settings): string => hashOf(destination(settings, 'https'))

/** Cluster name of an identity under these settings. */
export const clientCertificateCluster = (settings: Settings, name: string): string =>
  versioned({ name }, hashOfSettings(settings)).name

interface Cluster {
  readonly name: string
  readonly alt_stat_name?: unknown
}

/**
 * Clusters of `before` that requests in flight may still use after a change of settings, because their routes or
 * gateways name them. Unused certificates are not included.
 */
export const drainingClusters = <T extends Cluster>(
  before: readonly T[],
  next: readonly T[],
): readonly T[] => {
  const names = new Set<unknown>(next.flatMap(({ name, alt_stat_name }) => [name, alt_stat_name]))
  return before.filter(
    ({ name, alt_stat_name: plain }) =>
      typeof plain === 'string' &&
      !names.has(name) &&
      (names.has(plain) || !plain.startsWith(IDENTITY_PREFIX)),
  )
}

/** Clusters by the gateway's name of the upstream. */
const byUpstream = (settings: Settings) => ({
  https: versioned(destination(settings, 'https')),
  dialed_https: versioned(dialed(settings, 'https')),
  ...(settings.egress.http
    ? {
        http: versioned(destination(settings, 'http')),
        dialed_http: versioned(dialed(settings, 'http')),
      }
    : {}),
})

const websocket = (settings: Settings) => versioned(destination(settings, 'websocket'))

/** Cluster name of each upstream inside the forward proxy's tunnels. */
export const tunneledClusters = (settings: Settings): Readonly<Record<string, string>> => ({
  ...destinationClusters(settings),
  websocket: websocket(settings).name,
})

/** Cluster name of each available upstream. */
export const destinationClusters = (settings: Settings): Readonly<Record<string, string>> => ({
  ...Object.fromEntries(Object.entries(byUpstream(settings)).map(([upstream, { name }]) => [upstream, name])),
  ...(settings.demo ? { demo: CLUSTERS.demo } : {}),
})

/** All clusters of destinations, including those with certificates of proxies. */
export const destinations = (settings: Settings) => {
  const hash = hashOfSettings(settings)
  return [
    ...Object.values(byUpstream(settings)),
    ...(settings.forward ? [websocket(settings)] : []),
    ...(settings.identities ?? []).map((identity) =>
      versioned(destination(settings, 'https', identity), hash),
    ),
    ...(settings.demo ? [demo(settings, settings.demo)] : []),
  ]
}
