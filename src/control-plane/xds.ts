/**
 * REST-JSON xDS (v3 discovery requests as HTTP POSTs with JSON bodies) over a unix socket. Envoy sends the next request
 * as soon as it has a response; the response waits for a new version.
 */

/** Static cluster of the control plane. */
export const CONTROL_PLANE = 'control_plane'

/** Longest wait of a response for a new version, in ms. */
export const HOLD_MS = 25_000

/** Resource types, with their type URL and the path of their discovery requests. */
export const RESOURCE_TYPES = {
  clusters: { type: 'type.googleapis.com/envoy.config.cluster.v3.Cluster', path: '/v3/discovery:clusters' },
  listeners: {
    type: 'type.googleapis.com/envoy.config.listener.v3.Listener',
    path: '/v3/discovery:listeners',
  },
  routes: {
    type: 'type.googleapis.com/envoy.config.route.v3.RouteConfiguration',
    path: '/v3/discovery:routes',
  },
  secrets: {
    type: 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret',
    path: '/v3/discovery:secrets',
  },
} as const

export type ResourceType = keyof typeof RESOURCE_TYPES

export const RESOURCE_TYPE_NAMES = Object.keys(RESOURCE_TYPES) as readonly ResourceType[]

/** `ConfigSource` of the control plane. Envoy is not ready before the first response. */
export const fromControlPlane = {
  resource_api_version: 'V3',
  initial_fetch_timeout: '0s',
  api_config_source: {
    api_type: 'REST',
    transport_api_version: 'V3',
    cluster_names: [CONTROL_PLANE],
    refresh_delay: '0.02s',
    request_timeout: `${HOLD_MS / 1000 + 5}s`,
  },
}
