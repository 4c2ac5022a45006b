/** Calls of this process that Envoy carries, until its log says how they ended. */
import { randomBytes } from 'node:crypto'
import type { Caller } from '../sdk/index.ts'
import { type CallEnd, type CallLabel, codeOf, countCall, isComplete } from './call-end.ts'
import { outcomeRecord, type RequestRecordDeps, type RequestTelemetry } from './request-record.ts'
import type { CallMark } from './types.ts'

/** ms after the end of a call's stream within which its log entry comes, and between two looks. */
const LOST_MS = 10_000
/** The same of a guarded call, whose response may still be on its way: more than Envoy's limit of an idle stream. */
const GUARDED_LOST_MS = 310_000
const LOOK_MS = 5_000

const SEPARATOR = ' '

const written = (id: string, label: CallLabel): string => {
  const { tenantId, actorId, actorType, applicationId, proxyId, traceId, method, host } = label
  // The trace id is last: it alone may hold blanks.
  const parts = [id, tenantId, actorId, actorType, applicationId, proxyId, method, host, traceId]
  return parts.map((part) => part ?? '').join(SEPARATOR)
}

interface OpenCall {
  readonly telemetry: RequestTelemetry
  /** When it is lost, ms of the steady clock. Undefined: its stream is open. */
  lostAt: number | undefined
  /** Of a guarded call. */
  release: (() => void) | undefined
}

export class OpenCalls {
  /** Name of the process in Envoy's configuration. */
  readonly #worker: string
  readonly #deps: RequestRecordDeps
  /** Calls of an earlier process of this name are none of this one's. */
  readonly #run = randomBytes(6).toString('hex')
  readonly #calls = new Map<string, OpenCall>()
  #last = 0
  #looking: NodeJS.Timeout | undefined

  constructor(worker: number, deps: RequestRecordDeps) {
    this.#worker = String(worker)
    this.#deps = deps
  }

  /** Expects the end of a call; undefined: its caller is not known. */
  expect(telemetry: RequestTelemetry): { readonly id: string; readonly mark: CallMark } | undefined {
    const { label } = telemetry
    if (label === undefined) return undefined
    const id = `${this.#run}-${++this.#last}`
    this.#calls.set(id, { telemetry, lostAt: undefined, release: undefined })
    this.#looking ??= setTimeout(() => this.#look(), LOOK_MS).unref()
    return { id, mark: { worker: this.#worker, call: written(id, label) } }
  }

  /**
   * The stream of the call is over: its entry comes soon, or never. `release`, of a guarded call: called when Envoy
   * holds nothing of it any more, after 310 s at the latest.
   */
  closed(id: string, release?: () => void): void {
    const call = this.#calls.get(id)
    if (call === undefined || call.telemetry.isFinished) {
      this.#calls.delete(id)
      release?.()
      return
    }
    call.lostAt = performance.now() + (release === undefined ? LOST_MS : GUARDED_LOST_MS)
    call.release = release
  }

  ended(end: CallEnd): void {
    const [id = '', ...label] = end.call.split(SEPARATOR)
    const call = this.#calls.get(id)
    if (call !== undefined) {
      this.#calls.delete(id)
      call.release?.()
      call.telemetry.ended(end)
    } else if (!id.startsWith(this.#run)) this.#endedElsewhere(end, label)
  }

  /** All calls that are open are lost: the process ends. */
  close(): void {
    clearTimeout(this.#looking)
    for (const { telemetry } of this.#calls.values()) telemetry.lost()
    this.#calls.clear()
  }

  #look(): void {
    const now = performance.now()
    for (const [id, { telemetry, lostAt, release }] of this.#calls)
      if (lostAt !== undefined && lostAt < now) {
        this.#calls.delete(id)
        release?.()
        telemetry.lost()
      }
    this.#looking = this.#calls.size === 0 ? undefined : setTimeout(() => this.#look(), LOOK_MS).unref()
  }

  /** A call of a process that is gone, and with it what it knew of the call: its tokens, stages and rules. */
  #endedElsewhere(end: CallEnd, label: readonly string[]): void {
    const [tenantId, actorId = '', actorType, applicationId, proxyId, method = '', host, ...rest] = label
    const traceId = rest.join(SEPARATOR)
    if (tenantId === undefined || tenantId === '') return
    const { metrics, clock, log, audit } = this.#deps
    const { outcome, status, destinationStatus, details, flags, requestBytes, responseBytes, ms } = end
    const code = codeOf(end)
    const at = clock.now()
    countCall(metrics, end)
    metrics.recent.push({
      traceId,
      at,
      kind: 'proxy',
      tenantId,
      applicationId: applicationId || undefined,
      proxyId: proxyId || undefined,
      method,
      route: '/proxy',
      host,
      outcome,
      status: status === 0 ? undefined : status,
      destinationStatus,
      code,
      complete: outcome === 'answered' ? isComplete(end) : undefined,
      details,
      flags,
      durationMs: ms,
      totalMs: ms,
      stages: {},
      tokens: 0,
      rules: [],
      requestBytes,
      responseBytes,
    })
    const line = {
      operation: 'proxy',
      outcome,
      code,
      host,
      details,
      flags,
      trace_id: traceId,
      tenant_id: tenantId,
    }
    log.warn({ ...line, actor_id: actorId, total_ms: ms }, 'proxied call of a process that is gone')
    const caller = { tenantId, actorId, actorType: actorType as Caller['actorType'] }
    const call = { id: proxyId || applicationId || actorId, caller, traceId }
    audit([outcomeRecord(call, `${outcome}: ${code ?? status}`, at)]).catch((err: unknown) => {
      log.error({ trace_id: traceId, outcome, err }, 'outcome not recorded')
    })
  }
}
