/** Names of the routes: what the access log shows, and what local replies are told apart by. */
export const ROUTES = {
  hold: 'proxy_hold',
  pending: 'proxy_pending',
  stream: 'proxy_stream',
  method: 'proxy_method',
  connect: 'connect',
  grpc: 'grpc',
  api: 'api',
} as const

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
} as const
