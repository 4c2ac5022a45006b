import {
  AggregatorRegistry,
  type MetricObjectWithValues,
  type MetricValue,
  type Registry,
} from '@prometheus-io/client'
import type { Log } from '../../common/log.ts'
import type { Metrics } from '../../common/metrics.ts'
import { withTimeout } from '../../common/with-timeout.ts'
import type { OwnRoute } from '../http/types.ts'

/** Another process's metrics, as `registry.getMetricsAsJSON()` gives them there. */
export interface MetricSource {
  /** e.g. `gateway-1`. */
  readonly name: string
  metrics(signal: AbortSignal): Promise<readonly object[]>
}

interface MetricsDeps {
  readonly metrics: Metrics
  readonly sources: readonly MetricSource[]
  readonly log: Log
}

const UP = 'sidevault_process_up'
const LAG = 'nodejs_eventloop_lag_'

/** Metrics that have a label for the process. */
const nameLags = (metrics: readonly object[], process: string) =>
  (metrics as readonly MetricObjectWithValues<MetricValue<string>>[]).map((metric) =>
    metric.name.startsWith(LAG)
      ? {
          ...metric,
          values: metric.values.map((value) => ({ ...value, labels: { ...value.labels, process } })),
        }
      : metric,
  )

/**
 * `/metrics` in Prometheus text: the sum of this process's metrics and those of all sources (event-loop delays by
 * process), and which processes responded. A source that does not respond within `timeout` ms is down and left out.
 */
export const metricsRoute = (
  { metrics, sources, log }: MetricsDeps,
  options: { readonly name: string; readonly timeout: number },
): OwnRoute => ({
  path: '/metrics',
  name: 'metrics',
  handler: async (_request, reply) => {
    metrics.up.set({ process: options.name }, 1)
    const others = await Promise.all(
      sources.map(async (source) => {
        try {
          const collected = await withTimeout(options.timeout, (signal) => source.metrics(signal))
          metrics.up.set({ process: source.name }, 1)
          // Only this process reports which processes are up.
          return nameLags(collected, source.name).filter((metric) => metric.name !== UP)
        } catch (err) {
          log.warn({ err, process: source.name }, 'metrics of a process unavailable')
          metrics.up.set({ process: source.name }, 0)
          return []
        }
      }),
    )
    const own = nameLags(await metrics.registry.getMetricsAsJSON(), options.name)
    const all: Registry = AggregatorRegistry.aggregate([own, ...others] as object[])
    return reply.type(all.contentType).send(await all.metrics())
  },
})
