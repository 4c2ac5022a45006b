/** The only open port: management API and `/proxy` (docs/architecture.md, "Processes"). */
import { HEADER_KIB, HEADER_LINES, METADATA } from '../ext-proc/contract.ts'
import { accessLog, callLogs } from './access-logs.ts'
import { customResponse } from './custom-response.ts'
import { headerCopies } from './early-header-mutation.ts'
import { BUFFER_BYTES } from './limits.ts'
import { localReplies } from './local-replies.ts'
import { duration, type Settings } from './options.ts'
import { RECONNECT } from './retry-policy.ts'
import { CLUSTERS } from './route-names.ts'
import { EDGE_ROUTES } from './routes.ts'
import { EDGE_CERTIFICATE } from './secrets.ts'
import { fromControlPlane } from './xds.ts'

const HCM =
  'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager'
const EXT_PROC = 'type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor'
const MUTATION = 'type.googleapis.com/envoy.extensions.filters.http.header_mutation.v3.HeaderMutation'
const ROUTER = 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router'
const TLS = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext'

/** Removes `x-envoy-*` headers of callers, which would control the router: retries, timeouts. */
export const withoutEnvoyHeaders = {
  name: 'envoy.filters.http.header_mutation',
  typed_config: {
    '@type': MUTATION,
    mutations: { request_mutations: [{ remove_on_match: { key_matcher: { prefix: 'x-envoy-' } } }] },
  },
}

type BodyMode = 'NONE' | 'BUFFERED' | 'FULL_DUPLEX_STREAMED'

const overrideMode = (request: BodyMode, response: BodyMode) => ({
  response_header_mode: 'SEND',
  request_body_mode: request,
  response_body_mode: response,
  request_trailer_mode: request === 'FULL_DUPLEX_STREAMED' ? 'SEND' : 'SKIP',
  response_trailer_mode: 'SEND',
})

/** What gateway/encode-reply.ts may ask for. Envoy ignores others silently: the response would pass unguarded. */
const OVERRIDE_MODES = [
  overrideMode('BUFFERED', 'NONE'),
  overrideMode('BUFFERED', 'BUFFERED'),
  overrideMode('BUFFERED', 'FULL_DUPLEX_STREAMED'),
  overrideMode('FULL_DUPLEX_STREAMED', 'NONE'),
  overrideMode('FULL_DUPLEX_STREAMED', 'FULL_DUPLEX_STREAMED'),
]

/**
 * The gateway's external processor. Envoy closes a stream once nothing more is to be sent on it. Trailers of responses
 * are sent so that it stays open to the end of the response: until then the call holds its share of memory.
 */
export const gateway = ({ gatewayTimeoutMs }: Settings) => ({
  name: 'envoy.filters.http.ext_proc',
  typed_config: {
    '@type': EXT_PROC,
    grpc_service: {
      envoy_grpc: { cluster_name: CLUSTERS.gateway, skip_envoy_headers: true },
      retry_policy: RECONNECT,
    },
    failure_mode_allow: false,
    status_on_error: { code: 'GatewayTimeout' },
    message_timeout: duration(gatewayTimeoutMs),
    // For guarded calls and response transforms; other responses never pass through the gateway.
    allow_mode_override: true,
    allowed_override_modes: OVERRIDE_MODES,
    processing_mode: {
      request_header_mode: 'SEND',
      request_body_mode: 'BUFFERED',
      request_trailer_mode: 'SKIP',
      response_header_mode: 'SKIP',
      response_body_mode: 'NONE',
      response_trailer_mode: 'SEND',
    },
    mutation_rules: { allow_all_routing: true, allow_envoy: false, disallow_is_error: true },
    metadata_options: { receiving_namespaces: { untyped: [METADATA] } },
  },
})

export const HTTP_OPTIONS = {
  idle_timeout: '300s',
  max_headers_count: 2.5 * HEADER_LINES,
  headers_with_underscores_action: 'ALLOW',
}

export const router = {
  name: 'envoy.filters.http.router',
  typed_config: { '@type': ROUTER, suppress_envoy_headers: true },
}

/** Settings that the listeners of HTTP share; `own`: what differs. */
export const connectionManager = (settings: Settings, own: Readonly<Record<string, unknown>>) => ({
  name: 'envoy.filters.network.http_connection_manager',
  typed_config: {
    '@type': HCM,
    codec_type: 'AUTO',
    // A caller's x-forwarded-for is neither trusted nor changed.
    use_remote_address: false,
    skip_xff_append: true,
    generate_request_id: false,
    // Paths stay unchanged: the gateway rejects invalid ones (completions §7).
    normalize_path: false,
    merge_slashes: false,
    path_with_escaped_slashes_action: 'KEEP_UNCHANGED',
    server_header_transformation: 'PASS_THROUGH',
    scheme_header_transformation: { match_upstream: true },
    // The gateway limits headers of callers. Envoy's limit also covers headers added by code and the gateway.
    max_request_headers_kb: 2 * HEADER_KIB,
    request_headers_timeout: '10s',
    // Routes have a shorter timeout, except for uploads.
    request_timeout: duration(settings.uploadTimeoutMs),
    stream_idle_timeout: '300s',
    common_http_protocol_options: HTTP_OPTIONS,
    // Routes respond with 405 to unknown methods too.
    http_protocol_options: { allow_custom_methods: true },
    http2_protocol_options: {
      max_concurrent_streams: 100,
      initial_stream_window_size: 65_536,
      initial_connection_window_size: 1_048_576,
    },
    early_header_mutation_extensions: [headerCopies(settings.clientAddress)],
    access_log: [accessLog(settings), ...callLogs(settings)],
    ...own,
  },
})

const edge = (settings: Settings) =>
  connectionManager(settings, {
    stat_prefix: 'edge',
    local_reply_config: localReplies(settings),
    rds: { route_config_name: EDGE_ROUTES, config_source: fromControlPlane },
    http_filters: [withoutEnvoyHeaders, gateway(settings), customResponse, router],
  })

/** TLS with these members of a `CommonTlsContext`. */
export const transportSocket = (certificates: object) => ({
  name: 'envoy.transport_sockets.tls',
  typed_config: {
    '@type': TLS,
    common_tls_context: {
      alpn_protocols: ['h2', 'http/1.1'],
      tls_params: { tls_minimum_protocol_version: 'TLSv1_2' },
      ...certificates,
    },
  },
})

/** TLS with the edge's certificate. */
export const edgeTransportSocket = transportSocket({
  tls_certificate_sds_secret_configs: [{ name: EDGE_CERTIFICATE, sds_config: fromControlPlane }],
})

/** A `Listener` message. */
export const listener = (settings: Settings) => ({
  name: 'edge',
  address: {
    socket_address: { address: settings.listen.host, port_value: settings.listen.port },
  },
  enable_reuse_port: false,
  per_connection_buffer_limit_bytes: BUFFER_BYTES,
  filter_chains: [
    {
      ...(settings.tls ? { transport_socket: edgeTransportSocket } : {}),
      filters: [edge(settings)],
    },
  ],
})
