/**
 * How Envoy asks this control plane for its configuration: REST-JSON xDS (v3 discovery requests as HTTP POSTs with JSON
 * bodies) over a unix socket. Envoy asks again as soon as it has an answer; the answer waits until there is news.
 */

/** The static cluster that leads to the control plane. */
export const CONTROL_PLANE = 'control_plane'

/** Milliseconds that a question waits for news. */
export const HOLD_MS = 25_000

/** What is served, with the type of its resources and the path that Envoy posts to. */
export const KINDS = {
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

export type Kind = keyof typeof KINDS

export const KIND_NAMES = Object.keys(KINDS) as readonly Kind[]

/** A `ConfigSource`: resources come from the control plane. Without a first answer Envoy is not ready, and waits. */
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
