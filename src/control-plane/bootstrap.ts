/** Envoy's bootstrap file. */
import { BUFFER_BYTES, DEFAULT_MEMORY_BYTES, DISCOVERY_BYTES } from './limits.ts'
import { loadAssignment } from './load-assignment.ts'
import type { BootstrapOptions } from './options.ts'
import { CONTROL_PLANE, fromControlPlane } from './xds.ts'

const FIXED_HEAP = 'type.googleapis.com/envoy.extensions.resource_monitors.fixed_heap.v3.FixedHeapConfig'
const CONNECTIONS =
  'type.googleapis.com/envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig'

/** Under memory pressure Envoy first shrinks its heap, then rejects new requests with 503. */
const overload = (memoryBytes: number) => ({
  refresh_interval: '0.25s',
  resource_monitors: [
    {
      name: 'envoy.resource_monitors.fixed_heap',
      typed_config: { '@type': FIXED_HEAP, max_heap_size_bytes: memoryBytes },
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
})

const INTERNAL = 'type.googleapis.com/envoy.extensions.bootstrap.internal_listener.v3.InternalListener'

/**
 * Extension for the internal listeners of the forward proxy. With RST on internal sockets, Envoy cuts a response whose
 * connection is closed right behind it. `test/envoy/forward-proxy.program.test.ts` holds the proof, for a new version
 * of Envoy.
 */
const internalListeners = {
  bootstrap_extensions: [
    {
      name: 'envoy.bootstrap.internal_listener',
      // 1 MiB for each direction of each hop by default, which a slow reader fills.
      typed_config: { '@type': INTERNAL, buffer_size_kb: BUFFER_BYTES / 1024 },
    },
  ],
}
const FORWARD_RUNTIME = {
  'envoy.reloadable_features.enable_send_rst_on_user_space_socket': false,
  'http.async_response_buffer_limit': DISCOVERY_BYTES,
}

/** For the pattern of headers that do not reach the console (`console-routes.ts`). */
const CONSOLE_RUNTIME = { 're2.max_program_size.error_level': 5_000 }

interface Options extends Pick<BootstrapOptions, 'envoyAdminSocket' | 'memoryBytes' | 'console'> {
  /** The forward proxy may have listeners. */
  readonly forwards?: boolean
  readonly controlSocket: string
}

const layered = (layer: Readonly<Record<string, unknown>>) =>
  Object.keys(layer).length === 0
    ? {}
    : { layered_runtime: { layers: [{ name: 'static', static_layer: layer }] } }

/** `Bootstrap` message in JSON: only the connection to the control plane, which serves everything else. */
export const renderBootstrap = ({
  envoyAdminSocket: adminSocket,
  memoryBytes = DEFAULT_MEMORY_BYTES,
  forwards,
  console,
  controlSocket,
}: Options): object => ({
  node: { id: 'sidevault', cluster: 'sidevault' },
  admin: { address: { pipe: { path: adminSocket, mode: 0o600 } } },
  overload_manager: overload(memoryBytes),
  ...(forwards ? internalListeners : {}),
  ...layered({ ...(forwards ? FORWARD_RUNTIME : {}), ...(console ? CONSOLE_RUNTIME : {}) }),
  dynamic_resources: { cds_config: fromControlPlane, lds_config: fromControlPlane },
  static_resources: {
    clusters: [
      {
        name: CONTROL_PLANE,
        type: 'STATIC',
        connect_timeout: '0.5s',
        load_assignment: loadAssignment(CONTROL_PLANE, [controlSocket]),
      },
    ],
  },
})
