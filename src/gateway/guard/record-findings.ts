/** Records of values in a response: an audit record for each token, metrics, a log line (completions §17). */
import { auditRecord } from '../../access/audit-record.ts'
import type { Resolved } from '../request.ts'
import type { RequestContext } from '../request-context.ts'
import type { Findings } from './findings.ts'

/** `json`: as `Findings.describe` takes it. The response does not wait for the journal. */
export const recordFindings = async (
  findings: Findings,
  json: Buffer | undefined,
  { caller, destination: { host } }: Resolved,
  { gateway: { deps }, traceId }: RequestContext,
): Promise<void> => {
  if (findings.isEmpty) return
  const { log, metrics, clock, audit } = deps
  for (const [action, count] of Object.entries(findings.counts))
    if (count > 0) metrics.guard.findings.inc({ action }, count)
  const { tenantId } = caller
  const line = { trace_id: traceId, tenant_id: tenantId, host, ...findings.counts }
  log.warn(line, 'a response held a value of its request')
  try {
    const described = await findings.describe(json)
    const at = clock.now()
    await audit(
      described.map(({ tokenId, what }) => {
        const message = `Value in the response of ${host}: ${what}`
        return auditRecord(
          { entity: 'token', id: tokenId, operation: 'guard', message },
          { caller, traceId },
          at,
        )
      }),
    )
  } catch (err) {
    log.error({ trace_id: traceId, err }, 'findings in a response not recorded')
  }
}
