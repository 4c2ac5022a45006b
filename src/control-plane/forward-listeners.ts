/**
 * Listeners of the forward proxy: CONNECT on its port, TLS with our certificates, and the requests inside. Two internal
 * listeners, so that a bound host costs a chain of TLS and not one of HTTP
 * (docs/adr/0090-a-tunnel-goes-through-two-internal-listeners.md).
 */
import { ATTRIBUTES, FORWARD_CHAINS, METADATA, TUNNEL_STATE } from '../ext-proc/contract.ts'
import { callLogs, connectLog } from './access-logs.ts'
import { customResponse } from './custom-response.ts'
import { headerCopies, withoutPrefixed } from './early-header-mutation.ts'
import { CONNECT_ROUTES, TUNNELED_ROUTES } from './forward-routes.ts'
import { BUFFER_BYTES, TUNNEL_IDLE_MS, TUNNEL_MS } from './limits.ts'
import {
  connectionManager,
  edgeTransportSocket,
  gateway,
  HTTP_OPTIONS,
  router,
  transportSocket,
  withoutEnvoyHeaders,
} from './listener.ts'
import { localReplies } from './local-replies.ts'
import { duration, type ForwardHost, type Settings } from './options.ts'
import { CLUSTERS } from './route-names.ts'
import { fromControlPlane } from './xds.ts'

const FILTERS = 'type.googleapis.com/envoy.extensions.filters'
const STDERR = 'type.googleapis.com/envoy.extensions.access_loggers.stream.v3.StderrAccessLog'

/** Tunnels at once. The gateway's shares of tenants are reached before. */
const CONNECTIONS = 16_384

type Pairs = readonly (readonly [key: string, value: string])[]

/** Strings that are part of the key of Envoy's connection pools: tunnels of two callers never share a connection. */
const filterState = (pairs: Pairs) =>
  pairs.map(([key, value]) => ({
    object_key: key,
    factory_key: 'envoy.hashable_string',
    format_string: { text_format_source: { inline_string: value }, omit_empty_values: true },
    shared_with_upstream: 'ONCE',
    skip_if_empty: true,
  }))

/** The gateway's external processor with the attributes that say which listener asks. */
const processor = (settings: Settings, attributes: readonly string[], own: object = {}) => {
  const { name, typed_config: config } = gateway(settings)
  return { name, typed_config: { ...config, request_attributes: attributes, ...own } }
}

/** For requests whose body the gateway does not get. */
const withoutBody = (settings: Settings) => ({
  allow_mode_override: false,
  processing_mode: { ...gateway(settings).typed_config.processing_mode, request_body_mode: 'NONE' },
})

const outer = (settings: Settings, forward: NonNullable<Settings['forward']>) => ({
  name: FORWARD_CHAINS.connect,
  address: { socket_address: { address: forward.listen.host, port_value: forward.listen.port } },
  enable_reuse_port: false,
  per_connection_buffer_limit_bytes: BUFFER_BYTES,
  filter_chains: [
    {
      name: FORWARD_CHAINS.connect,
      ...(forward.tls ? { transport_socket: edgeTransportSocket } : {}),
      filters: [
        {
          name: 'envoy.filters.network.connection_limit',
          typed_config: {
            '@type': `${FILTERS}.network.connection_limit.v3.ConnectionLimit`,
            stat_prefix: 'forward',
            max_connections: CONNECTIONS,
          },
        },
        connectionManager(settings, {
          stat_prefix: 'forward_outer',
          // HTTP/1.0: Python up to 3.11 sends CONNECT so.
          http_protocol_options: { accept_http_10: true },
          // A rejected handshake inside is reported to the client only then.
          delayed_close_timeout: '0.1s',
          upgrade_configs: [{ upgrade_type: 'CONNECT', enabled: false }],
          local_reply_config: localReplies(settings, true),
          access_log: [connectLog(settings), ...callLogs(settings)],
          rds: { route_config_name: CONNECT_ROUTES, config_source: fromControlPlane },
          http_filters: [
            withoutEnvoyHeaders,
            processor(settings, [ATTRIBUTES.chain], {
              ...withoutBody(settings),
              // An open tunnel outlives its gateway process. A CONNECT without metadata stays on `tunnel_hold`.
              failure_mode_allow: true,
            }),
            {
              name: 'envoy.filters.http.set_filter_state',
              typed_config: {
                '@type': `${FILTERS}.http.set_filter_state.v3.Config`,
                on_request_headers: filterState([
                  ['sidevault.tunnel', `%DYNAMIC_METADATA(${METADATA}:tunnel)%`],
                  ['sidevault.nonce', `%DYNAMIC_METADATA(${METADATA}:nonce)%`],
                ]),
              },
            },
            router,
          ],
        }),
      ],
    },
  ],
})

/** Filter chain with TLS for one host; hands the tunnel's filter state on, with the server name. */
const chain = ({ host, certificate, key }: ForwardHost) => ({
  name: host,
  filter_chain_match: { server_names: [host] },
  transport_socket_connect_timeout: '10s',
  transport_socket: transportSocket({
    tls_certificates: [
      { certificate_chain: { inline_string: certificate }, private_key: { inline_string: key } },
    ],
  }),
  filters: [
    {
      name: 'envoy.filters.network.set_filter_state',
      typed_config: {
        '@type': `${FILTERS}.network.set_filter_state.v3.Config`,
        on_new_connection: filterState([
          [TUNNEL_STATE.identity, '%FILTER_STATE(sidevault.tunnel:PLAIN)%'],
          ['sidevault.in.nonce', '%FILTER_STATE(sidevault.nonce:PLAIN)%'],
          [TUNNEL_STATE.serverName, '%REQUESTED_SERVER_NAME%'],
        ]),
      },
    },
    {
      name: 'envoy.filters.network.tcp_proxy',
      typed_config: {
        '@type': `${FILTERS}.network.tcp_proxy.v3.TcpProxy`,
        stat_prefix: CLUSTERS.forwardTls,
        cluster: CLUSTERS.forwardHttp,
        idle_timeout: '3600s',
        max_connect_attempts: 1,
      },
    },
  ],
})

/** No DNS name, so no tenant can bind it: Envoy rejects all chains when two match the same name. */
const NO_HOST = '-.invalid'

/** Always there: Envoy cannot update a listener without chains in place. */
const noHost = {
  name: NO_HOST,
  filter_chain_match: { server_names: [NO_HOST] },
  filters: [
    {
      name: 'envoy.filters.network.direct_response',
      typed_config: { '@type': `${FILTERS}.network.direct_response.v3.Config` },
    },
  ],
}

/**
 * A missing or unknown server name, or a failed handshake: the only place that knows of it. No host (completions §12).
 */
const handshakeLog = {
  name: 'envoy.access_loggers.stderr',
  filter: { response_flag_filter: { flags: ['NR', 'UF', 'DPE'] } },
  typed_config: {
    '@type': STDERR,
    log_format: {
      json_format: {
        process: 'envoy',
        time: '%START_TIME%',
        route: CLUSTERS.forwardTls,
        status: 0,
        flags: '%RESPONSE_FLAGS%',
        details: '%RESPONSE_CODE_DETAILS%',
        reason: '%DOWNSTREAM_TRANSPORT_FAILURE_REASON%',
        // The nonce of a tunnel begins with its trace id.
        trace_id: '%FILTER_STATE(sidevault.nonce:PLAIN):32%',
        ms: '%DURATION%',
      },
    },
  },
}

const tls = ({ hosts }: NonNullable<Settings['forward']>) => ({
  name: CLUSTERS.forwardTls,
  stat_prefix: CLUSTERS.forwardTls,
  internal_listener: {},
  per_connection_buffer_limit_bytes: BUFFER_BYTES,
  // Ends tunnels that send nothing, and what aborted CONNECTs leave.
  listener_filters_timeout: '5s',
  continue_on_listener_filters_timeout: false,
  listener_filters: [
    {
      name: 'envoy.filters.listener.tls_inspector',
      typed_config: { '@type': `${FILTERS}.listener.tls_inspector.v3.TlsInspector` },
    },
  ],
  access_log: [handshakeLog],
  filter_chains: [noHost, ...hosts.map(chain)],
})

const requests = (settings: Settings) => {
  const attributes = [ATTRIBUTES.chain, ATTRIBUTES.tunnel, ATTRIBUTES.serverName]
  return {
    name: CLUSTERS.forwardHttp,
    internal_listener: {},
    per_connection_buffer_limit_bytes: BUFFER_BYTES,
    filter_chains: [
      {
        name: FORWARD_CHAINS.requests,
        filters: [
          connectionManager(settings, {
            stat_prefix: 'forward',
            // TLS ended one listener before.
            scheme_header_transformation: { scheme_to_overwrite: 'https' },
            common_http_protocol_options: {
              ...HTTP_OPTIONS,
              idle_timeout: duration(TUNNEL_IDLE_MS),
              max_connection_duration: duration(TUNNEL_MS),
            },
            drain_timeout: '5s',
            early_header_mutation_extensions: [withoutPrefixed(settings.prefixes), headerCopies(false)],
            local_reply_config: localReplies(settings, true),
            rds: { route_config_name: TUNNELED_ROUTES, config_source: fromControlPlane },
            // A buffered body would hang the handshake.
            upgrade_configs: [
              {
                upgrade_type: 'websocket',
                filters: [
                  withoutEnvoyHeaders,
                  processor(settings, attributes, withoutBody(settings)),
                  router,
                ],
              },
            ],
            http_filters: [withoutEnvoyHeaders, processor(settings, attributes), customResponse, router],
          }),
        ],
      },
    ],
  }
}

/** `Listener` messages; none without the forward proxy. */
export const forwardListeners = (settings: Settings) =>
  settings.forward === undefined
    ? []
    : [outer(settings, settings.forward), tls(settings.forward), requests(settings)]
