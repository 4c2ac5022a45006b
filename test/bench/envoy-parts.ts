/** Parts of Envoy's configuration that `envoy-share.ts` removes: none changes the response of its calls. */

// biome-ignore lint/suspicious/noExplicitAny: Envoy's configuration in JSON
type Json = any

/** Removes a part of a configuration. */
export type Change = (bootstrap: Json) => void
type Parts = Readonly<Record<string, Change>>

const managerOf = (bootstrap: Json) =>
  bootstrap.static_resources.listeners[0].filter_chains[0].filters[0].typed_config
const hostOf = (bootstrap: Json) => managerOf(bootstrap).route_config.virtual_hosts[0]
const clusterOf = (bootstrap: Json, start: string) =>
  bootstrap.static_resources.clusters.find(({ name }: Json) => name.startsWith(start))
const processorOf = (bootstrap: Json) =>
  managerOf(bootstrap).http_filters.find(({ name }: Json) => name === 'envoy.filters.http.ext_proc')
    .typed_config
/** HTTP settings of the destination's cluster. */
const httpOf = (bootstrap: Json): Json =>
  Object.values(clusterOf(bootstrap, 'destination_https').typed_extension_protocol_options)[0]

const without = (holder: Json, filter: string): void => {
  holder.http_filters = holder.http_filters.filter(
    ({ name }: Json) => name !== `envoy.filters.http.${filter}`,
  )
}
/** Replies of another kind (`share-peers.ts`). */
const replies =
  (kind: string): Change =>
  (bootstrap) => {
    const [{ endpoint }] = clusterOf(bootstrap, 'gateway').load_assignment.endpoints[0].lb_endpoints
    endpoint.address.pipe.path = endpoint.address.pipe.path.replace(/[^/]+$/, `${kind}.sock`)
  }
const both =
  (...changes: readonly Change[]): Change =>
  (bootstrap) => {
    for (const change of changes) change(bootstrap)
  }
const logs =
  (first: number, count: number): Change =>
  (bootstrap) =>
    managerOf(bootstrap).access_log.splice(first, count)

const SHARED = {
  'header mutations of listener and route': (bootstrap) => {
    delete managerOf(bootstrap).early_header_mutation_extensions
    for (const route of hostOf(bootstrap).routes)
      for (const member of Object.keys(route))
        if (/_headers_to_(add|remove)$/.test(member)) delete route[member]
  },
  'removal of `x-envoy-` headers': (bootstrap) => without(managerOf(bootstrap), 'header_mutation'),
  'replacement of 101 (`custom_response`)': (bootstrap) => without(managerOf(bootstrap), 'custom_response'),
  'bodies of local replies': (bootstrap) => {
    delete managerOf(bootstrap).local_reply_config
  },
  'log of failures': logs(0, 1),
  'log of calls to the gateway': logs(1, 1),
  'overload manager': (bootstrap) => {
    delete bootstrap.overload_manager
  },
  'timers of listener, route and `ext_proc`': (bootstrap) => {
    const manager = managerOf(bootstrap)
    for (const member of ['request_timeout', 'request_headers_timeout']) delete manager[member]
    manager.stream_idle_timeout = '0s'
    manager.common_http_protocol_options.idle_timeout = '0s'
    for (const { route = {} } of hostOf(bootstrap).routes) {
      for (const member of ['idle_timeout', 'max_stream_duration']) delete route[member]
      if (route.retry_policy?.num_retries === 0) delete route.retry_policy
      route.timeout = '0s'
    }
  },
  'statistics (a matcher rejects all)': (bootstrap) => {
    bootstrap.stats_config = { stats_matcher: { reject_all: true } }
  },
} satisfies Parts

const oneRoute: Change = (bootstrap) => {
  const host = hostOf(bootstrap)
  host.routes = [{ ...host.routes[0], match: { prefix: '/' } }]
}

const withAll = (parts: Parts, last: Change = () => {}): Parts => ({
  ...parts,
  'all of them': (bootstrap) => {
    both(...Object.values(parts), last)(bootstrap)
    managerOf(bootstrap).access_log = []
  },
})

/** Of a call to `/proxy`. */
export const proxyParts = ({ host, port }: { readonly host: string; readonly port: number }): Parts => ({
  ...withAll(
    {
      'conditions of routes': oneRoute,
      'conditions of routes; second and third choice': both(oneRoute, replies('one-choice')),
      'conditions of routes; metadata of replies': both(oneRoute, replies('no-metadata')),
      'third message, at the end of the response': (bootstrap) => {
        processorOf(bootstrap).processing_mode.response_trailer_mode = 'SKIP'
      },
      'modes that replies may ask for': (bootstrap) => {
        delete processorOf(bootstrap).allow_mode_override
        delete processorOf(bootstrap).allowed_override_modes
      },
      'reconnects to the gateway': (bootstrap) => {
        delete processorOf(bootstrap).grpc_service.retry_policy
      },
      'check of the dialed address': (bootstrap) => without(httpOf(bootstrap), 'upstream_rbac'),
      'resolved names: one address instead': (bootstrap) => {
        const cluster = clusterOf(bootstrap, 'destination_https')
        const address = { socket_address: { address: '127.0.0.1', port_value: port } }
        for (const member of ['cluster_type', 'lb_policy']) delete cluster[member]
        cluster.type = 'STATIC'
        cluster.load_assignment = {
          cluster_name: cluster.name,
          endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }],
        }
        delete httpOf(bootstrap).upstream_http_protocol_options
        cluster.transport_socket.typed_config.sni = host
      },
      'header mutations of the cluster': (bootstrap) => without(httpOf(bootstrap), 'header_mutation'),
      ...SHARED,
    },
    replies('nothing'),
  ),
  'buffered body: full duplex instead': both(replies('duplex'), (bootstrap) => {
    const { processing_mode: mode } = processorOf(bootstrap)
    mode.request_body_mode = 'FULL_DUPLEX_STREAMED'
    mode.request_trailer_mode = 'SEND'
  }),
})

/** Of a read, through the route to the admin process. */
export const API_PARTS: Parts = withAll({
  'routes before the last one': (bootstrap) => {
    const host = hostOf(bootstrap)
    host.routes = host.routes.slice(-1)
  },
  'disabled filter `ext_proc`': (bootstrap) => without(managerOf(bootstrap), 'ext_proc'),
  'reconnects to the admin process': (bootstrap) => {
    delete hostOf(bootstrap).routes.at(-1).route.retry_policy
  },
  ...SHARED,
})
