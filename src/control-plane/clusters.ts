/** Clusters: gateway processes, the admin process, destinations. */
import { STREAM_WINDOW } from '../ext-proc/frames.ts'
import { destinations } from './destinations.ts'
import { forwardClusters } from './forward-clusters.ts'
import { httpProtocol } from './http-protocol.ts'
import { ENVOY_LIMIT } from './limits.ts'
import { loadAssignment } from './load-assignment.ts'
import type { Settings } from './options.ts'
import { CLUSTERS, logCluster } from './route-names.ts'

/** HTTP/2 to a process of ours. */
const HTTP2 = httpProtocol({
  explicit_http_config: {
    http2_protocol_options: {
      max_concurrent_streams: 1000,
      initial_stream_window_size: STREAM_WINDOW,
      initial_connection_window_size: 16_777_216,
      connection_keepalive: { interval: '15s', timeout: '3s' },
    },
  },
})

const gateway = ({ gatewaySockets }: Settings) => ({
  name: CLUSTERS.gateway,
  type: 'STATIC',
  connect_timeout: '0.5s',
  lb_policy: 'LEAST_REQUEST',
  typed_extension_protocol_options: HTTP2,
  circuit_breakers: {
    thresholds: [
      {
        max_connections: 256,
        max_pending_requests: ENVOY_LIMIT,
        max_requests: ENVOY_LIMIT,
        max_retries: 8192,
      },
    ],
  },
  load_assignment: loadAssignment(CLUSTERS.gateway, gatewaySockets),
})

/** One cluster for each gateway process: the log of a call goes to the process that served it. */
const logs = ({ gatewayLogSockets = [] }: Settings) =>
  gatewayLogSockets.map((socket, worker) => ({
    name: logCluster(worker),
    type: 'STATIC',
    connect_timeout: '0.5s',
    typed_extension_protocol_options: HTTP2,
    load_assignment: loadAssignment(logCluster(worker), [socket]),
  }))

const api = ({ apiSocket }: Settings) => ({
  name: CLUSTERS.api,
  type: 'STATIC',
  connect_timeout: '0.5s',
  circuit_breakers: {
    thresholds: [{ max_connections: 1024, max_pending_requests: 4096, max_requests: 8192 }],
  },
  load_assignment: loadAssignment(CLUSTERS.api, [apiSocket]),
})

const grpc = (socket: string) => ({
  name: CLUSTERS.grpc,
  type: 'STATIC',
  connect_timeout: '0.5s',
  typed_extension_protocol_options: HTTP2,
  circuit_breakers: {
    thresholds: [{ max_connections: 64, max_pending_requests: 4096, max_requests: 8192 }],
  },
  load_assignment: loadAssignment(CLUSTERS.grpc, [socket]),
})

/** A cluster without endpoints. */
const nowhere = {
  name: CLUSTERS.nowhere,
  type: 'STATIC',
  connect_timeout: '0.1s',
  load_assignment: { cluster_name: CLUSTERS.nowhere },
}

/** `Cluster` messages. */
export const clusters = (settings: Settings) => [
  gateway(settings),
  ...logs(settings),
  api(settings),
  ...(settings.grpcSocket === undefined ? [] : [grpc(settings.grpcSocket)]),
  nowhere,
  ...destinations(settings),
  ...forwardClusters(settings),
]
