import type { Clock } from '../../common/clock.ts'
import type { Log } from '../../common/log.ts'
import { createLogThrottle } from '../../common/log-throttle.ts'
import type { Metrics } from '../../common/metrics.ts'
import type { OnRejected } from './seal-records.ts'

/** ms after the last rejection until the component has recovered. */
const LASTING = 10 * 60_000

export interface RejectedRecords {
  readonly onRejected: OnRejected
  /** `missing`: collections of recently rejected records. Calls that need such a record fail, others succeed. */
  health(): { readonly missing: readonly string[] }
}

/** Reports rows that were altered outside the service: a log line, a metric, and a component of `/readyz`. */
export const createRejectedRecords = ({
  log,
  metrics,
  clock,
}: {
  readonly log: Log
  readonly metrics: Pick<Metrics, 'rejectedRecords'>
  readonly clock: Clock
}): RejectedRecords => {
  const throttle = createLogThrottle()
  const last = new Map<string, number>()
  return {
    onRejected: ({ collection, tenantId: tenant_id, id }) => {
      last.set(collection, clock.now())
      metrics.rejectedRecords.inc({ collection })
      const suppressed = throttle(collection)
      if (suppressed !== undefined)
        log.error(
          { collection, tenant_id, id, suppressed },
          'a stored record was altered outside the service; rejected',
        )
    },
    health: () => ({
      missing: [...last].flatMap(([collection, at]) => (clock.now() - at < LASTING ? [collection] : [])),
    }),
  }
}
