/** W3C Trace Context (https://www.w3.org/TR/trace-context-1/): the ids by which services name one trace. */
import { randomBytes } from 'node:crypto'

export const TRACEPARENT = 'traceparent'
export const TRACESTATE = 'tracestate'

/** A span as other services see it. */
export interface TraceContext {
  /** 32 lower-case hex digits, not all zero. */
  readonly traceId: string
  /** 16 lower-case hex digits, not all zero. */
  readonly spanId: string
  readonly isSampled: boolean
}

const PATTERN = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const ZEROS = /^0+$/
const MAX_LENGTH = 200
const SAMPLED = 1

/** Undefined for a header that is absent or not valid. Later versions may have more fields, which are ignored. */
export const parseTraceparent = (value: string | undefined): TraceContext | undefined => {
  if (value === undefined || value.length > MAX_LENGTH) return undefined
  const [, version, traceId = '', spanId = '', flags = '', more] = PATTERN.exec(value) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (ZEROS.test(traceId) || ZEROS.test(spanId)) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 }
}

export const formatTraceparent = ({ traceId, spanId, isSampled }: TraceContext): string =>
  `00-${traceId}-${spanId}-0${isSampled ? 1 : 0}`

export const newSpanId = (): string => randomBytes(8).toString('hex')

/** `key=value` ("tracestate Header Field Values"). */
const MEMBER = /^[a-z0-9][a-z0-9_\-*/]{0,255}(?:@[a-z][a-z0-9_\-*/]{0,13})?=[ !-+\--<>-~]{0,255}[!-+\--<>-~]$/
const SEPARATOR = /[ \t]*,[ \t]*/
const MAX_STATE_LENGTH = 512
const MAX_MEMBERS = 32

/** Whether the value of `tracestate` is valid, and short enough for every service to propagate it. */
export const isTracestate = (value: string): boolean => {
  if (value.length > MAX_STATE_LENGTH) return false
  const members = value.split(SEPARATOR)
  return members.length <= MAX_MEMBERS && members.every((member) => member === '' || MEMBER.test(member))
}
