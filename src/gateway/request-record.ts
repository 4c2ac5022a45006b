/** Telemetry of one request: its log line, its metrics, and its audit records (completions §10, §12). */
import { AppliedRules } from '../access/applied-rules.ts'
import { auditRecord } from '../access/audit-record.ts'
import type { AuditRecord } from '../audit/types.ts'
import type { Clock } from '../common/clock.ts'
import type { AppError } from '../common/errors.ts'
import type { Eventual } from '../common/eventual.ts'
import type { Log } from '../common/log.ts'
import type { Metrics } from '../common/metrics.ts'
import type { Caller, StoredProxy } from '../sdk/index.ts'
import type { CallTrace } from './call-trace.ts'
import type { Stages } from './timings.ts'

export interface RequestRecordDeps {
  readonly log: Log
  readonly metrics: Metrics
  readonly clock: Clock
  /** Where calls, and those denied, are recorded. */
  readonly audit: (records: readonly AuditRecord[]) => Promise<void>
}

/** Who calls, and through which stored proxy. */
interface Identity {
  readonly caller: Caller
  readonly proxy: StoredProxy | undefined
  readonly dryRun: boolean
}

/** How a request ended; a number is the status of our own response. */
type Ended = 'forwarded' | 'dry_run' | 'interrupted' | 'opened' | 'tunneled' | number

/** Statuses of responses that are ours. The others pass the gateway by. */
const OWN: Readonly<Record<string, number>> = { dry_run: 200, opened: 200 }

/** Audit records, log line and metrics of one request. */
export class RequestTelemetry {
  readonly traceId: string
  readonly #trace: CallTrace
  /** Rules and permissions that decided about the tokens. */
  readonly decisions = new AppliedRules()
  /** Tokens used. */
  tokens = 0
  readonly #method: string
  /** The destination. */
  host: string | undefined
  destinationStatus: string | undefined
  /** Bytes of the request body; undefined when unknown. */
  requestBytes: number | undefined
  responseBytes: number | undefined
  readonly stages: Stages = {}
  readonly #deps: RequestRecordDeps
  readonly #began = performance.now()
  readonly #operation: 'proxy' | 'connect'
  #identity: Identity | undefined
  #finished = false

  constructor(deps: RequestRecordDeps, trace: CallTrace, method: string, operation: 'proxy' | 'connect') {
    this.#deps = deps
    this.traceId = trace.id
    this.#trace = trace
    this.#method = method
    this.#operation = operation
  }

  /** Notes who calls, as soon as it is known: a call that is then denied is theirs. */
  identified(identity: Identity): void {
    this.#identity = identity
  }

  /** Records a proxied call or a dry run. Rejects when the journal cannot be written. */
  called(identity: Identity): Promise<void> {
    const what = identity.dryRun
      ? this.#record(identity, 'Proxy dry run', 'read')
      : this.#record(identity, 'Proxy used')
    return this.#deps.audit([what])
  }

  /** Records a tunnel that is forwarded without opening TLS. Rejects when the journal cannot be written. */
  tunneled(identity: Identity): Promise<void> {
    return this.#deps.audit([this.#record(identity, 'Tunnel passed on unopened')])
  }

  /** Writes log line and metrics of the request. Only the first call has an effect. */
  finish(ended: Ended, error?: AppError): void {
    if (this.#finished) return
    this.#finished = true
    const { metrics, log } = this.#deps
    const { tokens, traceId } = this
    const { spanId, span } = this.#trace
    const identity = this.#identity
    const ms = performance.now() - this.#began
    if (identity !== undefined) this.#remember(identity, ended, error, ms)
    span?.set({
      ...(typeof ended === 'number' ? { status: ended } : { outcome: ended }),
      error: error?.code,
      tokens,
    })
    metrics.requests.inc({ operation: this.#operation, status: ended })
    metrics.duration.observe({ kind: this.#operation }, ms / 1000)
    const line: Record<string, unknown> = { operation: this.#operation }
    if (typeof ended === 'number') line.status = ended
    else line.outcome = ended
    if (error !== undefined) {
      line.code = error.code
      line.host = this.host
    }
    line.tokens = tokens
    line.ms = Math.round(ms * 10) / 10
    line.trace_id = traceId
    if (spanId !== undefined) line.span_id = spanId
    line.tenant_id = identity?.caller.tenantId
    line.actor_id = identity?.caller.actorId
    if (identity?.proxy !== undefined) line.proxy_id = identity.proxy.id
    if (error?.code === 'internal') log.error({ ...line, err: error.cause }, 'proxied call failed')
    else log.info(line, 'proxied call')
  }

  #remember({ caller, proxy }: Identity, ended: Ended, error: AppError | undefined, ms: number): void {
    const { traceId, host, destinationStatus, stages, tokens, decisions } = this
    // A streamed request that was interrupted may have sent values.
    if (tokens > 0 && host !== undefined && (ended === 'forwarded' || ended === 'interrupted'))
      this.#deps.metrics.destinations.add(caller.tenantId, host, tokens)
    const { requestBytes, responseBytes } = this
    const isForwarded = ended === 'forwarded' && destinationStatus !== undefined
    this.#deps.metrics.recent.push({
      traceId,
      at: this.#deps.clock.now(),
      kind: this.#operation,
      tenantId: caller.tenantId,
      applicationId: caller.applicationId,
      proxyId: proxy?.id,
      method: this.#method,
      route: this.#operation === 'connect' ? 'CONNECT' : '/proxy',
      host,
      outcome: typeof ended === 'number' ? 'responded' : ended,
      status: typeof ended === 'number' ? ended : isForwarded ? Number(destinationStatus) : OWN[ended],
      destinationStatus: destinationStatus === undefined ? undefined : Number(destinationStatus),
      code: error?.code,
      durationMs: ms,
      stages,
      tokens,
      rules: decisions.list,
      requestBytes,
      responseBytes,
    })
  }

  /** A call that was rejected. */
  rejected(error: AppError): Eventual<void> {
    this.finish(error.status, error)
    const identity = this.#identity
    // A custom response of code is no denial.
    if (!identity || error.status !== 403 || error.response !== undefined) return
    return this.#denied(identity, error)
  }

  async #denied(identity: Identity, error: AppError): Promise<void> {
    try {
      await this.#deps.audit([this.#record(identity, `Proxy call denied: ${error.toProblem().title}`)])
    } catch (err) {
      this.#deps.log.error({ trace_id: this.traceId, err }, 'denied call not recorded')
    }
  }

  #record({ caller, proxy }: Identity, message: string, operation: 'use' | 'read' = 'use'): AuditRecord {
    const id = proxy?.id ?? caller.applicationId ?? caller.actorId
    const event = { entity: 'proxy', id, operation, message }
    return auditRecord(event, { caller, traceId: this.traceId }, this.#deps.clock.now())
  }
}
