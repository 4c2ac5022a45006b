import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, type Registry } from 'prom-client'
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

export interface MetricsDeps {
  readonly metrics: Metrics
  readonly sources: readonly MetricSource[]
  readonly log: Log
}

const UP = 'sidevault_process_up'
const LAG = 'sidevault_nodejs_eventloop_lag_'

/** Which process kept its callers waiting is said of each one. */
const nameLags = (found: readonly object[], name: string) =>
  (found as readonly MetricObjectWithValues<MetricValue<string>>[]).map((metric) =>
    metric.name.startsWith(LAG)
      ? { ...metric, values: metric.values.map((one) => ({ ...one, labels: { ...one.labels, name } })) }
      : metric,
  )

/**
 * `/metrics` in Prometheus text: this process's and those of all sources, added up (delays of event loops by process),
 * and which processes answered. A source that does not answer within `timeout` ms counts as down and is left out.
 */
export const metricsRoute = (
  { metrics, sources, log }: MetricsDeps,
  options: { readonly name: string; readonly timeout: number },
): OwnRoute => ({
  path: '/metrics',
  name: 'metrics',
  handler: async (_request, reply) => {
    metrics.up.set({ name: options.name }, 1)
    const others = await Promise.all(
      sources.map(async (source) => {
        try {
          const found = await withTimeout(options.timeout, (signal) => source.metrics(signal))
          metrics.up.set({ name: source.name }, 1)
          // Who is up is said here only: the others know of themselves at most.
          return nameLags(found, source.name).filter((metric) => metric.name !== UP)
        } catch (err) {
          log.warn({ err, process: source.name }, 'a process gave no metrics')
          metrics.up.set({ name: source.name }, 0)
          return []
        }
      }),
    )
    const own = nameLags(await metrics.registry.getMetricsAsJSON(), options.name)
    const all: Registry = AggregatorRegistry.aggregate([own, ...others] as object[])
    return reply.type(all.contentType).send(await all.metrics())
  },
})
