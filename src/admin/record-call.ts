import { systemClock } from '../common/clock.ts'
import type { ErrorCode } from '../common/errors.ts'
import type { Log } from '../common/log.ts'
import type { Metrics } from '../common/metrics.ts'
import type { AppliedRule } from '../common/request-ring.ts'
import type { Span } from '../common/tracing.ts'
import type { Caller } from '../sdk/index.ts'

const NO_STAGES = Object.freeze({})

/** A call of the API that has got its response, whatever its transport. */
interface EndedCall {
  /** Name in metrics and access log. */
  readonly operation: string
  readonly method: string
  readonly route: string
  /** ms of `performance.now()`. */
  readonly startedAt: number
  readonly traceId: string
  readonly span: Span | undefined
  readonly caller: Caller | undefined
  readonly rules: readonly AppliedRule[]
  readonly status: number
  readonly code: ErrorCode | undefined
  readonly requestBytes?: number | undefined
  readonly responseBytes?: number | undefined
  /** Sent every few seconds, or many at once: neither timed nor, unless it fails, listed or logged at info. */
  readonly isProbe: boolean
  /** Sent by a page in the background: as a probe, but timed. */
  readonly isBackground?: boolean
  /** Sent by a page of the console. */
  readonly isConsole?: boolean
  /** More members of its line in the access log. */
  readonly logged?: Readonly<Record<string, unknown>>
}

/** Counts calls, lists them among the newest ones, and writes their lines in the access log. */
export const createCallRecorder =
  ({ log, metrics }: { readonly log: Log; readonly metrics: Metrics }) =>
  (call: EndedCall): void => {
    const { operation, caller, status, code, traceId, span, rules, isProbe, isBackground = false } = call
    const durationMs = performance.now() - call.startedAt
    const tokens = rules.reduce(
      (sum, { tokens, disclosure }) => (disclosure === 'none' ? sum : sum + tokens),
      0,
    )
    span?.set({ status, error: code, tokens })
    span?.end()
    const isQuiet = (isProbe || isBackground) && status < 400
    metrics.requests.inc({ operation, status })
    if (!isProbe) metrics.duration.observe({ kind: 'management' }, durationMs / 1000)
    if (caller !== undefined && !isQuiet)
      metrics.recent.push({
        at: systemClock.now(),
        kind: 'api',
        traceId,
        method: call.method,
        route: call.route,
        tenantId: caller.tenantId,
        applicationId: caller.applicationId,
        proxyId: undefined,
        host: undefined,
        status,
        code,
        outcome: 'responded',
        destinationStatus: undefined,
        durationMs,
        stages: NO_STAGES,
        rules,
        tokens,
        requestBytes: call.requestBytes,
        responseBytes: call.responseBytes,
        isConsole: call.isConsole === true,
      })
    const entry = {
      operation,
      status,
      ...call.logged,
      ...(code === undefined ? {} : { code }),
      ms: Math.round(durationMs * 1000) / 1000,
      trace_id: traceId,
      ...(span === undefined ? {} : { span_id: span.context.spanId }),
      ...(caller && caller.tenantId !== '' ? { tenant_id: caller.tenantId, actor_id: caller.actorId } : {}),
    }
    if (isQuiet) log.debug(entry, 'response sent')
    else log.info(entry, 'response sent')
  }
