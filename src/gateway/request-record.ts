/** Telemetry of one request: its log line, its metrics, and its audit records (completions §10, §12). */
import { AppliedRules } from '../access/applied-rules.ts'
import { auditRecord } from '../access/audit-record.ts'
import type { AuditRecord } from '../audit/types.ts'
import type { Clock } from '../common/clock.ts'
import type { AppError } from '../common/errors.ts'
import type { Eventual } from '../common/eventual.ts'
import type { Log } from '../common/log.ts'
import type { Metrics } from '../common/metrics.ts'
import type { ListedRequest } from '../common/request-ring.ts'
import type { Outcome } from '../ext-proc/contract.ts'
import type { AuditOrigin, Caller, StoredProxy } from '../sdk/index.ts'
import { type CallEnd, type CallLabel, codeOf, countCall, isComplete } from './call-end.ts'
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

/** How a request ended here; a number is the status of our own response. */
type Ended = 'dry_run' | 'opened' | number

/** Where a request went on to: its end is in Envoy's log (call-log.ts). */
type Released = 'forwarded' | 'tunneled'

type Operation = 'use' | 'read' | 'check' | 'outcome'

/** The call that a record is about; `id`: of its proxy, else of its application or caller. */
interface RecordedCall extends AuditOrigin {
  readonly id: string
}

const recordOf = (
  { id, caller, traceId, operation, message }: RecordedCall & { operation: Operation; message: string },
  at: number,
): AuditRecord => {
  const event = { entity: 'proxy', id, operation, message }
  return auditRecord(event, { caller, traceId }, at)
}

/** The second record of a call that took values: what became of it. */
export const outcomeRecord = (call: RecordedCall, became: string, at: number): AuditRecord =>
  recordOf({ ...call, operation: 'outcome', message: `Outcome ${became}` }, at)

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
  /** What the response guard found: `clean`, `replaced=2`, `blocked`, `unreadable`. */
  guard: string | undefined
  /** What of a plugin denied the call. */
  denial: string | undefined
  /** Labels that are recorded. */
  #labels: Set<string> | undefined
  /** Why this process broke the response off. */
  #brokenBy: AppError['code'] | undefined
  /** Bytes of the request body; undefined when unknown. */
  requestBytes: number | undefined
  responseBytes: number | undefined
  readonly stages: Stages = {}
  readonly #deps: RequestRecordDeps
  readonly #began = performance.now()
  readonly #operation: 'proxy' | 'connect'
  #identity: Identity | undefined
  #isReleased = false
  #isFinished = false
  /** Its row among the newest calls, which is there from its release on. */
  #row: ListedRequest | undefined

  constructor(deps: RequestRecordDeps, trace: CallTrace, method: string, operation: 'proxy' | 'connect') {
    this.#deps = deps
    this.traceId = trace.id
    this.#trace = trace
    this.#method = method
    this.#operation = operation
  }

  /** Notes who calls, as soon as it is known: a call that is then denied is theirs. */
  identified({ caller, proxy, dryRun }: Identity): void {
    // Not the request itself: this lives until the end of the call is known, and its head and body would, too.
    this.#identity = { caller, proxy, dryRun }
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

  /** Records the labels of a check, each once. Rejects when the journal cannot be written. */
  async labeled(check: string, labels: Readonly<Record<string, string>>): Promise<void> {
    const text = JSON.stringify(labels)
    const key = `${check} ${text}`
    this.#labels ??= new Set()
    if (this.#identity === undefined || this.#labels.has(key)) return
    this.#labels.add(key)
    const record = this.#record(this.#identity, `Labeled by the check "${check}"`, 'check')
    await this.#deps.audit([{ ...record, labels: text }])
  }

  get isFinished(): boolean {
    return this.#isFinished
  }

  /** Of a request that this process responds to, or whose end it will never know. */
  get outcome(): Outcome {
    if (this.destinationStatus !== undefined) return 'answered'
    return this.#isReleased ? 'unknown' : 'not_sent'
  }

  /** Who calls, as the log of the call returns it if this process is gone by then. */
  get label(): CallLabel | undefined {
    if (this.#identity === undefined) return undefined
    const { caller, proxy } = this.#identity
    return {
      tenantId: caller.tenantId,
      actorId: caller.actorId,
      actorType: caller.actorType,
      applicationId: caller.applicationId,
      proxyId: proxy?.id,
      traceId: this.traceId,
      method: this.#method,
      host: this.host,
    }
  }

  /** The request leaves with the reply that follows. */
  released(as: Released): void {
    if (this.#isReleased || this.#isFinished) return
    this.#isReleased = true
    this.#count(as)
    this.#remember({ outcome: as === 'forwarded' ? 'sent' : as })
  }

  /** The request ends here. Writes its log line and metrics; only the first call has an effect. */
  finish(ended: Ended, error?: AppError): void {
    if (this.#isFinished) return
    this.#isFinished = true
    if (!this.#isReleased) this.#count(ended)
    const isOwn = typeof ended === 'number'
    const outcome = isOwn ? this.outcome : ended
    this.#remember({ outcome, status: isOwn ? ended : 200, ...this.#destination, code: error?.code })
    if (isOwn && this.#operation === 'proxy') this.#disclosureEnded(this.outcome, error?.code ?? ended)
    this.#endTrace({ outcome, status: isOwn ? ended : undefined, error: error?.code })
    const line = { ...this.#line(outcome), ...(isOwn && { status: ended }), ...this.#error(error?.code) }
    if (error?.code === 'internal') this.#deps.log.error({ ...line, err: error.cause }, 'proxied call failed')
    else this.#deps.log.info(line, 'proxied call')
  }

  /** The response is broken off, behind its headers. */
  brokenOff({ code }: AppError): void {
    this.#brokenBy = code
  }

  /** Envoy has carried the request to its end. */
  ended(end: CallEnd): void {
    if (this.#isFinished) return
    this.#isFinished = true
    const { status, destinationStatus, details, flags, requestBytes, responseBytes, ms } = end
    const outcome = this.#row?.outcome === 'tunneled' ? 'tunneled' : end.outcome
    const code = this.#brokenBy ?? codeOf(end)
    const complete = outcome === 'answered' ? isComplete(end) : undefined
    const known = { status: status === 0 ? undefined : status, destinationStatus, code, details, flags }
    this.#remember({ outcome, ...known, complete, totalMs: ms, requestBytes, responseBytes })
    countCall(this.#deps.metrics, end)
    if (destinationStatus !== undefined) this.#trace.responded(destinationStatus)
    this.#endTrace({ outcome, status: known.status, error: code })
    if (outcome !== 'tunneled')
      this.#disclosureEnded(end.outcome, complete === false ? 'cut off' : (code ?? status))
    this.#deps.log.info(
      {
        ...this.#line(outcome),
        status: known.status,
        destination_status: destinationStatus,
        ...(complete === false && { response_complete: false }),
        ...((code !== undefined || complete === false) && { details, flags }),
        ...this.#error(code),
        request_bytes: requestBytes,
        response_bytes: responseBytes,
        total_ms: ms,
      },
      'proxied call',
    )
  }

  /** Nothing more will be known of the request. */
  lost(): void {
    if (this.#isFinished) return
    this.#isFinished = true
    const { outcome } = this
    if (!this.#isReleased) this.#count('interrupted')
    this.#remember({ outcome })
    this.#disclosureEnded(outcome, 'interrupted')
    this.#endTrace({ outcome, status: undefined, error: undefined })
    this.#deps.log.info(this.#line(outcome), 'proxied call')
  }

  #count(status: Ended | Released | 'interrupted'): void {
    const { metrics } = this.#deps
    metrics.requests.inc({ operation: this.#operation, status })
    metrics.duration.observe({ kind: this.#operation }, (performance.now() - this.#began) / 1000)
  }

  /** The span of the call, with facts that its destination's span has not. */
  #endTrace(facts: { outcome: string; status: number | undefined; error: string | undefined }): void {
    this.#trace.span?.set({ ...facts, tokens: this.tokens })
    this.#trace.end()
  }

  #line(outcome: string): Record<string, unknown> {
    const identity = this.#identity
    return {
      operation: this.#operation,
      outcome,
      tokens: this.tokens,
      ms: Math.round((performance.now() - this.#began) * 10) / 10,
      trace_id: this.traceId,
      ...(this.guard !== undefined && { guard: this.guard }),
      ...(this.#trace.spanId !== undefined && { span_id: this.#trace.spanId }),
      tenant_id: identity?.caller.tenantId,
      actor_id: identity?.caller.actorId,
      ...(identity?.proxy !== undefined && { proxy_id: identity.proxy.id }),
    }
  }

  get #destination(): Pick<ListedRequest, 'destinationStatus'> {
    const { destinationStatus } = this
    return { destinationStatus: destinationStatus === undefined ? undefined : Number(destinationStatus) }
  }

  #error(code: string | undefined): Record<string, unknown> {
    return code === undefined ? {} : { code, host: this.host }
  }

  /** Puts the call among the newest ones, or what became known into its row. */
  #remember(known: Partial<ListedRequest> & Pick<ListedRequest, 'outcome'>): void {
    if (this.#identity === undefined) return
    const { caller, proxy } = this.#identity
    const { metrics, clock } = this.#deps
    if (this.#row !== undefined) {
      Object.assign(this.#row, { ...known, guard: this.guard })
      return
    }
    const { traceId, host, stages, tokens, decisions, requestBytes, responseBytes } = this
    this.#row = metrics.recent.push({
      traceId,
      at: clock.now(),
      kind: this.#operation,
      tenantId: caller.tenantId,
      applicationId: caller.applicationId,
      proxyId: proxy?.id,
      method: this.#method,
      route: this.#operation === 'connect' ? 'CONNECT' : '/proxy',
      host,
      status: undefined,
      ...this.#destination,
      code: undefined,
      durationMs: performance.now() - this.#began,
      stages,
      tokens,
      rules: decisions.list,
      requestBytes,
      responseBytes,
      guard: this.guard,
      ...known,
    })
  }

  /** The second record of a disclosure: what became of the request that values were put into. */
  #disclosureEnded(outcome: Outcome, why: string | number): void {
    const identity = this.#identity
    if (identity === undefined || identity.dryRun || this.tokens === 0) return
    if (outcome !== 'not_sent' && this.host !== undefined)
      this.#deps.metrics.destinations.add(identity.caller.tenantId, this.host, this.tokens)
    const record = outcomeRecord(this.#recorded(identity), `${outcome}: ${why}`, this.#deps.clock.now())
    this.#deps.audit([record]).catch((err: unknown) => {
      this.#deps.log.error({ trace_id: this.traceId, outcome, err }, 'outcome not recorded')
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
      const by = this.denial ?? error.toProblem().title
      await this.#deps.audit([this.#record(identity, `Proxy call denied: ${by}`)])
    } catch (err) {
      this.#deps.log.error({ trace_id: this.traceId, err }, 'denied call not recorded')
    }
  }

  #record(identity: Identity, message: string, operation: Operation = 'use'): AuditRecord {
    return recordOf({ ...this.#recorded(identity), operation, message }, this.#deps.clock.now())
  }

  #recorded({ caller, proxy }: Identity): RecordedCall {
    return { id: proxy?.id ?? caller.applicationId ?? caller.actorId, caller, traceId: this.traceId }
  }
}
