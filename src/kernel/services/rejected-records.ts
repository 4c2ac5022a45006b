import type { Clock } from '../../common/clock.ts'
import type { Log } from '../../common/log.ts'
import { createLogThrottle } from '../../common/log-throttle.ts'
import type { Metrics } from '../../common/metrics.ts'
import type { OnRejected } from './seal-records.ts'

/** ms after the last refusal until the part counts as well again. */
const LASTING = 10 * 60_000

export interface RejectedRecords {
  readonly onRejected: OnRejected
  /** `missing`: collections of records rejected lately. Calls that need such a record fail, all others are served. */
  health(): { readonly missing: readonly string[] }
}

/** Reports rows that were altered outside the service: a log line, a metric, and a part of `/readyz`. */
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
          'a stored record was altered outside the service and is refused',
        )
    },
    health: () => ({
      missing: [...last].flatMap(([collection, at]) => (clock.now() - at < LASTING ? [collection] : [])),
    }),
  }
}
