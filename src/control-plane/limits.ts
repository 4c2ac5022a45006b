/**
 * What Envoy holds for a call, and for all. The gateway shares it among tenants (src/gateway/README.md, "Shares"), so no
 * limit of Envoy's own may be reached before: those know no tenants, and fail everybody's calls.
 */

const KIB = 1024
const MIB = 1024 * KIB

/** Of a connection, in each direction, when the other side does not read. */
export const BUFFER_BYTES = 64 * KIB

/** Of a response over HTTP/2; a connection has room for all of its streams, so that a slow reader stops no other. */
export const DESTINATION_STREAMS = 100
export const STREAM_WINDOW_BYTES = 128 * KIB
export const CONNECTION_WINDOW_BYTES = 16 * MIB

/** All of these that a call may fill, beside its body. */
export const CALL_BYTES = 256 * KIB

/** Of a body that goes on in pieces, those that wait for a destination that does not read. */
export const PIECES_BYTES = MIB

export const DEFAULT_MEMORY_BYTES = 1024 * MIB

/** What calls may hold of Envoy's memory; the rest is for connections, configuration and what is not returned yet. */
export const heldBytes = (memoryBytes: number): number => memoryBytes * 0.75

/** Calls, connections and look-ups of names at once: beyond what `heldBytes` allows of the largest memory. */
export const UNREACHED = 65_536

/** Names in Envoy's cache that gateways share out, and what the cache has room for: it forgets some later than they do. */
export const HOSTS = 16_384
export const CACHED_HOSTS = 2 * HOSTS
