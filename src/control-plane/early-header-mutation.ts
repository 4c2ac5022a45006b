/**
 * Envoy removes `connection` and sets `x-forwarded-proto` before the gateway sees a request. These copies are made
 * earlier, preserve the caller's headers, and are never forwarded.
 */
import { CLIENT_ADDRESS_HEADER } from '../common/rate-limiter.ts'
import { CLUSTER_HEADER } from '../ext-proc/contract.ts'

export const CONNECTION_COPY = 'x-sidevault-connection'
const FORWARDED_PROTO = 'x-forwarded-proto'
const FORWARDED_PROTO_COPY = 'x-sidevault-forwarded-proto'

/** Headers for the gateway only. */
export const COPIES: readonly string[] = [CONNECTION_COPY, FORWARDED_PROTO_COPY]

const EARLY =
  'type.googleapis.com/envoy.extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation'

/** Sets `to` to the value of `from`, or removes it without one. */
const copy = (from: string, to: string) => [
  { remove: to },
  {
    append: {
      header: { key: to, value: `%REQ(${from})%` },
      append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
    },
  },
]

/** Address of the connection, regardless of this header or `x-forwarded-for` in the request. */
const clientAddress = [
  { remove: CLIENT_ADDRESS_HEADER },
  {
    append: {
      header: { key: CLIENT_ADDRESS_HEADER, value: '%DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT%' },
      append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
    },
  },
]

/** For `HttpConnectionManager.early_header_mutation_extensions`. */
export const headerCopies = (withClientAddress: boolean) => ({
  name: 'envoy.http.early_header_mutation.header_mutation',
  typed_config: {
    '@type': EARLY,
    mutations: [
      { remove: CLUSTER_HEADER },
      ...copy('connection', CONNECTION_COPY),
      ...copy(FORWARDED_PROTO, FORWARDED_PROTO_COPY),
      ...(withClientAddress ? clientAddress : []),
    ],
  },
})

/** Removes headers with one of our prefixes, which mean nothing in a tunnel of the forward proxy. */
export const withoutPrefixed = (prefixes: readonly string[]) => ({
  name: 'envoy.http.early_header_mutation.header_mutation',
  typed_config: {
    '@type': EARLY,
    mutations: prefixes.map((prefix) => ({ remove_on_match: { key_matcher: { prefix: `${prefix}-` } } })),
  },
})

/**
 * Last mutations before a destination: the router needs its own `x-forwarded-proto`, the destination gets the
 * caller's.
 */
export const restoreForwardedProto = [
  ...copy(FORWARDED_PROTO_COPY, FORWARDED_PROTO),
  { remove: FORWARDED_PROTO_COPY },
]
