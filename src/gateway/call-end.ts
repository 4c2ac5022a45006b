/** The end of a call that Envoy carried. */
import type { ErrorCode } from '../common/errors.ts'
import type { Metrics } from '../common/metrics.ts'
import type { Outcome } from '../ext-proc/contract.ts'
import type { Caller } from '../sdk/index.ts'

/** How a call ended that Envoy carried. */
export interface CallEnd {
  /** What the gateway knows the call by (`ExchangeMetadata.call`). */
  readonly call: string
  readonly outcome: Outcome
  /** Of the response to the caller; 0: it got none. */
  readonly status: number
  readonly destinationStatus: number | undefined
  /** Of Envoy: `via_upstream`, or why the destination's response did not come, or not to its end. */
  readonly details: string
  /** Envoy's response flags; empty: none. */
  readonly flags: string
  readonly requestBytes: number
  readonly responseBytes: number
  /** ms from the first byte of the request to the last byte of the response. */
  readonly ms: number
}

/** Whose call it is, for a process that does not know it. */
export interface CallLabel {
  readonly tenantId: string
  readonly actorId: string
  readonly actorType: Caller['actorType']
  readonly applicationId: string | undefined
  readonly proxyId: string | undefined
  readonly traceId: string
  readonly method: string
  readonly host: string | undefined
}

/** Details of a complete response of the destination; the second: to a WebSocket handshake, sent on by Envoy. */
const COMPLETE = ['via_upstream', 'websocket_handshake_unsuccessful']

/** Whether the response of the destination reached the caller to its end. */
export const isComplete = ({ outcome, details }: CallEnd): boolean =>
  outcome === 'answered' && COMPLETE.includes(details)

/** Codes of Envoy's own responses (control-plane/local-replies.ts), where the status has one meaning. */
const CODES: Readonly<Record<number, ErrorCode>> = {
  400: 'malformed',
  403: 'destination_not_allowed',
  405: 'method_not_allowed',
  408: 'destination_timeout',
  413: 'too_large',
  431: 'headers_too_large',
  503: 'overloaded',
  504: 'gateway_timeout',
}

/** Details of a 502 for a response that came, and was none that can be passed on. */
const INVALID_RESPONSE = ['', 'response_payload_too_large']

/** Code of the response that Envoy made in the place of the destination's; undefined: it made none. */
export const codeOf = ({ status, destinationStatus, details }: CallEnd): ErrorCode | undefined => {
  if (destinationStatus !== undefined || status < 400) return undefined
  if (status !== 502) return CODES[status]
  return INVALID_RESPONSE.includes(details) || details.includes('protocol_error')
    ? 'bad_gateway'
    : 'destination_unreachable'
}

/** Counts a call that Envoy carried to its end. */
export const countCall = ({ calls }: Metrics, end: CallEnd): void => {
  const { outcome, status, ms, requestBytes, responseBytes } = end
  const complete = String(outcome !== 'answered' || isComplete(end))
  calls.ended.inc({ outcome, status, complete })
  calls.seconds.observe(ms / 1_000)
  calls.bytes.inc({ direction: 'request' }, requestBytes)
  calls.bytes.inc({ direction: 'response' }, responseBytes)
}
