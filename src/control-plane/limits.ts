/**
 * Memory limits of Envoy for each call and in total. The gateway divides them among tenants (src/gateway/README.md,
 * "Shares"). Envoy's own limits must be higher: they do not distinguish tenants, and would fail all calls.
 */

const KIB = 1024
const MIB = 1024 * KIB

/** Buffer of a connection in each direction. */
export const BUFFER_BYTES = 64 * KIB

/** HTTP/2 windows of responses. A connection's window covers all its streams, so a slow reader blocks no other. */
export const DESTINATION_STREAMS = 100
export const STREAM_WINDOW_BYTES = 128 * KIB
export const CONNECTION_WINDOW_BYTES = 16 * MIB

/** All buffers of one call, without its body. */
export const CALL_BYTES = 256 * KIB

/** The same of a guarded call: what gateway and Envoy send each other of its response is in their windows, too. */
export const GUARDED_CALL_BYTES = 768 * KIB

/** Buffers of an opened tunnel between its two internal listeners, besides `CALL_BYTES`. */
export const TUNNEL_BYTES = 256 * KIB

/** Buffered pieces of a streamed body. */
export const PIECES_BYTES = MIB

/**
 * ms that a tunnel of the forward proxy lasts without a request, and that it takes requests: less than Envoy's drain
 * time of 600 s, so that a new certificate leaves the last one time. WebSockets and unopened tunnels end after
 * `TUNNEL_MS`.
 */
export const TUNNEL_IDLE_MS = 300_000
export const TUNNEL_MS = 540_000

export const DEFAULT_MEMORY_BYTES = 1024 * MIB

/** Part of Envoy's memory for calls; the rest is for connections, configuration and freed pages. */
export const heldBytes = (memoryBytes: number): number => memoryBytes * 0.75

/** Envoy's own limit of calls, connections and lookups: above the number that `heldBytes` allows. */
export const ENVOY_LIMIT = 65_536

/** Host names that gateways divide among tenants, and the size of Envoy's DNS cache, which evicts later. */
export const HOSTS = 16_384
export const CACHED_HOSTS = 2 * HOSTS

/** A response to a discovery request: 4,000 hosts of the forward proxy, each with a chain of up to 12 KiB. */
export const DISCOVERY_BYTES = 64 * MIB
