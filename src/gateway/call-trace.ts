/** A call in the trace of its caller (W3C Trace Context), and its spans. */
import {
  formatTraceparent,
  isTracestate,
  newSpanId,
  parseTraceparent,
  TRACEPARENT,
  TRACESTATE,
  type TraceContext,
} from '../common/trace-context.ts'
import { traceIdFor } from '../common/trace-id.ts'
import { type Span, startSpan } from '../common/tracing.ts'
import { type Edits, type Head, traceIdOf } from './headers.ts'

const NONE: readonly string[] = []

/** Headers that are not valid: a `tracestate` means nothing without its `traceparent`. */
const invalidIn = (head: Head, parent: TraceContext | undefined): readonly string[] => {
  const states = head.get(TRACESTATE)
  const isStateInvalid = states !== undefined && (parent === undefined || !isTracestate(states.join(',')))
  if (parent === undefined && head.has(TRACEPARENT))
    return isStateInvalid ? [TRACEPARENT, TRACESTATE] : [TRACEPARENT]
  return isStateInvalid ? [TRACESTATE] : NONE
}

export class CallTrace {
  /** In the response, the log and the audit records. */
  readonly id: string
  /** Id of the call's span. Undefined: neither the caller nor this service records spans. */
  readonly spanId: string | undefined
  /** Absent: this service does not record it. */
  readonly span: Span | undefined
  /** Headers of the caller that are not valid, and are not forwarded. */
  readonly invalid: readonly string[]
  readonly #parent: TraceContext | undefined
  #destination: Span | undefined

  /** `header`: where the caller may send a trace id of its own; undefined where no header of the service counts. */
  constructor(head: Head, header: string | undefined, operation: string) {
    const lines = head.get(TRACEPARENT)
    const parent = lines?.length === 1 ? parseTraceparent(lines[0]) : undefined
    this.id = header === undefined ? traceIdFor(undefined, parent) : traceIdOf(head, header, parent)
    this.span = startSpan(operation, parent, this.id)
    this.spanId = this.span?.context.spanId ?? (parent === undefined ? undefined : newSpanId())
    this.invalid = invalidIn(head, parent)
    this.#parent = parent
  }

  /**
   * The headers of a request that leaves now. Only a caller that sent a `traceparent` has one forwarded: the call's
   * own. Code that removes or sets the header has its way.
   */
  release({ set, remove }: Edits, host: string, stripped: readonly string[]): Edits {
    this.#destination = this.span?.start('destination', 'client')
    this.#destination?.set({ host })
    const { spanId } = this
    const hasNone = this.#parent === undefined || spanId === undefined || stripped.includes(TRACEPARENT)
    if (hasNone || set.has(TRACEPARENT) || remove.includes(TRACEPARENT)) return { set, remove }
    const { traceId, isSampled } = this.#parent
    const context = this.#destination?.context ?? { traceId, spanId, isSampled }
    return { set: new Map([...set, [TRACEPARENT, formatTraceparent(context)]]), remove }
  }

  /** The destination's response has come. */
  responded(status: number): void {
    this.#destination?.set({ status })
  }

  /** The destination's response is complete. */
  endDestination(): void {
    this.#destination?.end()
    this.#destination = undefined
  }

  /** The call is over. Idempotent. */
  end(): void {
    this.endDestination()
    this.span?.end()
  }
}
