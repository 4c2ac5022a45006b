/** Clusters of the forward proxy: its internal listeners, and tunnels that are not opened. */
import { METADATA } from '../ext-proc/contract.ts'
import { codec, egressGuard, LIMITS } from './destinations.ts'
import { httpProtocol } from './http-protocol.ts'
import { BUFFER_BYTES } from './limits.ts'
import type { Settings } from './options.ts'
import { CLUSTERS } from './route-names.ts'

const INTERNAL =
  'type.googleapis.com/envoy.extensions.transport_sockets.internal_upstream.v3.InternalUpstreamTransport'
const RAW = 'type.googleapis.com/envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer'

/** Hands the tunnel's filter state to the internal listener of the same name. */
const internal = (name: string) => ({
  name,
  type: 'STATIC',
  connect_timeout: '1s',
  per_connection_buffer_limit_bytes: BUFFER_BYTES,
  circuit_breakers: LIMITS,
  load_assignment: {
    cluster_name: name,
    endpoints: [
      {
        lb_endpoints: [{ endpoint: { address: { envoy_internal_address: { server_listener_name: name } } } }],
      },
    ],
  },
  transport_socket: {
    name: 'envoy.transport_sockets.internal_upstream',
    typed_config: {
      '@type': INTERNAL,
      transport_socket: { name: 'envoy.transport_sockets.raw_buffer', typed_config: { '@type': RAW } },
    },
  },
})

/** Connects to the address that the gateway resolved; the egress guard checks it here too. */
const tunnel = (settings: Settings) => ({
  name: CLUSTERS.tunnel,
  type: 'ORIGINAL_DST',
  lb_policy: 'CLUSTER_PROVIDED',
  connect_timeout: '5s',
  per_connection_buffer_limit_bytes: BUFFER_BYTES,
  circuit_breakers: LIMITS,
  original_dst_lb_config: { metadata_key: { key: METADATA, path: [{ key: 'address' }] } },
  typed_extension_protocol_options: httpProtocol({
    explicit_http_config: { http_protocol_options: {} },
    http_filters: [egressGuard(settings), codec],
  }),
})

export const forwardClusters = (settings: Settings) =>
  settings.forward === undefined
    ? []
    : [internal(CLUSTERS.forwardTls), internal(CLUSTERS.forwardHttp), tunnel(settings)]
