/** Telemetry of one request: its log line, its metrics, and its audit records (completions §10, §12). */
import { auditRecord } from '../access/audit-record.ts'
import type { AuditRecord } from '../audit/types.ts'
import type { Clock } from '../common/clock.ts'
import type { AppError } from '../common/errors.ts'
import type { Log } from '../common/log.ts'
import type { Metrics } from '../common/metrics.ts'
import type { Identity } from './identify.ts'

export interface RequestRecordDeps {
  readonly log: Log
  readonly metrics: Metrics
  readonly clock: Clock
  /** Where calls, and those denied, are recorded. */
  readonly audit: (records: readonly AuditRecord[]) => Promise<void>
}

export interface RequestRecord {
  identity: Identity | undefined
  traceId: string
  /** Tokens used. */
  tokens: number
  /** A proxy is called, or a call is rehearsed. Rejects when that cannot be recorded. */
  called(identity: Identity): Promise<void>
  /** Once: how it ended; a number is the status of our own response. */
  finish(ended: 'forwarded' | 'dry_run' | 'interrupted' | number, error?: AppError): void
  /** A call that was rejected. */
  rejected(error: AppError): Promise<void>
}

export const createRequestRecord = ({ log, metrics, clock, audit }: RequestRecordDeps): RequestRecord => {
  const began = performance.now()
  let finished = false

  const record = ({ caller, proxy }: Identity, message: string, operation: 'use' | 'read' = 'use') => {
    const id = proxy?.id ?? caller.applicationId ?? caller.actorId
    const event = { entity: 'proxy', id, operation, message }
    return auditRecord(event, { caller, traceId: account.traceId }, clock.now())
  }

  const account: RequestRecord = {
    identity: undefined,
    traceId: '',
    tokens: 0,
    async called(identity) {
      const what = identity.dryRun
        ? record(identity, 'Proxy dry run', 'read')
        : record(identity, 'Proxy used')
      await audit([what])
    },
    finish(ended, error) {
      if (finished) return
      finished = true
      const ms = performance.now() - began
      metrics.requests.inc({ operation: 'proxy', status: ended })
      metrics.duration.observe({ at: 'proxy' }, ms / 1000)
      const { identity, tokens, traceId } = account
      const line = {
        operation: 'proxy',
        ...(typeof ended === 'number' ? { status: ended } : { outcome: ended }),
        ...(error === undefined ? {} : { code: error.code }),
        tokens,
        ms: Math.round(ms * 10) / 10,
        trace_id: traceId,
        tenant_id: identity?.caller.tenantId,
        actor_id: identity?.caller.actorId,
        ...(identity?.proxy === undefined ? {} : { proxy_id: identity.proxy.id }),
      }
      if (error?.code === 'internal') log.error({ ...line, err: error.cause }, 'proxied call failed')
      else log.info(line, 'proxied call')
    },
    async rejected(error) {
      account.finish(error.status, error)
      const { identity } = account
      // A custom response of code is no denial.
      if (!identity || error.status !== 403 || error.response !== undefined) return
      try {
        await audit([record(identity, `Proxy call denied: ${error.toProblem().title}`)])
      } catch (err) {
        log.error({ trace_id: account.traceId, err }, 'denied call not recorded')
      }
    },
  }
  return account
}
