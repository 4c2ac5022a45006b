/** Names of the routes, for the access log and for local replies. */
export const ROUTES = {
  hold: 'proxy_hold',
  pending: 'proxy_pending',
  stream: 'proxy_stream',
  method: 'proxy_method',
  connect: 'connect',
  grpc: 'grpc',
  api: 'api',
  tunnelOpen: 'tunnel_open',
  tunnelUnopened: 'tunnel_unopened',
  tunnelHold: 'tunnel_hold',
  noConnect: 'no_connect',
} as const

/** Cluster of the log of a gateway process. */
export const logCluster = (worker: number): string => `gateway_log_${worker}`

export const CLUSTERS = {
  gateway: 'gateway',
  api: 'api',
  grpc: 'grpc',
  nowhere: 'nowhere',
  https: 'destination_https',
  http: 'destination_http',
  dialed_https: 'dialed_https',
  dialed_http: 'dialed_http',
  demo: 'destination_demo',
  websocket: 'destination_websocket',
  tunnel: 'tunnel',
  forwardTls: 'forward_tls',
  forwardHttp: 'forward_http',
} as const
