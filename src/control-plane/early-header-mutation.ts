/**
 * Envoy takes `connection` off and makes up an `x-forwarded-proto` before the gateway sees a request. These copies,
 * made first and never forwarded, keep what the caller really sent.
 */
import { CLIENT_ADDRESS_HEADER } from '../common/rate-limiter.ts'
import { CLUSTER_HEADER } from '../ext-proc/contract.ts'

export const CONNECTION_COPY = 'x-sidevault-connection'
const FORWARDED_PROTO = 'x-forwarded-proto'
const FORWARDED_PROTO_COPY = 'x-sidevault-forwarded-proto'

/** None of them is for anybody but the gateway. */
export const COPIES: readonly string[] = [CONNECTION_COPY, FORWARDED_PROTO_COPY]

const EARLY =
  'type.googleapis.com/envoy.extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation'

/** Replaces `to` by the value of `from`; without one `to` is gone. */
const copy = (from: string, to: string) => [
  { remove: to },
  {
    append: {
      header: { key: to, value: `%REQ(${from})%` },
      append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
    },
  },
]

/** Who connected, whatever the caller says in this header or in `x-forwarded-for`. */
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

/** Last mutations before a destination: the router needs an `x-forwarded-proto`, the destination gets the caller's. */
export const restoreForwardedProto = [
  ...copy(FORWARDED_PROTO_COPY, FORWARDED_PROTO),
  { remove: FORWARDED_PROTO_COPY },
]
