/** Envoy's whole configuration as plain data: `envoy -c bootstrap.json` runs it, `envoy --mode validate` checks it. */
import { clusters } from './clusters.ts'
import { listener } from './listener.ts'
import { type BootstrapOptions, settle } from './options.ts'

const HEAP_BYTES = 1024 * 1024 * 1024
const FIXED_HEAP = 'type.googleapis.com/envoy.extensions.resource_monitors.fixed_heap.v3.FixedHeapConfig'
const CONNECTIONS =
  'type.googleapis.com/envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig'

/** Under memory pressure Envoy gives memory back first, and then refuses new requests with 503. */
const overload = {
  refresh_interval: '0.25s',
  resource_monitors: [
    {
      name: 'envoy.resource_monitors.fixed_heap',
      typed_config: { '@type': FIXED_HEAP, max_heap_size_bytes: HEAP_BYTES },
    },
    {
      name: 'envoy.resource_monitors.global_downstream_max_connections',
      typed_config: { '@type': CONNECTIONS, max_active_downstream_connections: 20_000 },
    },
  ],
  actions: [
    {
      name: 'envoy.overload_actions.shrink_heap',
      triggers: [{ name: 'envoy.resource_monitors.fixed_heap', threshold: { value: 0.9 } }],
    },
    {
      name: 'envoy.overload_actions.stop_accepting_requests',
      triggers: [{ name: 'envoy.resource_monitors.fixed_heap', threshold: { value: 0.97 } }],
    },
  ],
}

/** A `Bootstrap` message in its JSON form. Throws an Error naming an option that cannot be. */
export const renderBootstrap = (options: BootstrapOptions): object => {
  const settings = settle(options)
  return {
    node: { id: 'sidevault', cluster: 'sidevault' },
    admin: { address: { pipe: { path: settings.envoyAdminSocket, mode: 0o600 } } },
    overload_manager: overload,
    static_resources: { listeners: [listener(settings)], clusters: clusters(settings) },
  }
}
