import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { Gauge, type Registry } from '@prometheus-io/client'
import { untilNext } from './clock.ts'
import { createLagMeter, PRECISION_MS } from './lag-meter.ts'

/** Interval of samples of the event loop, ms. */
const SAMPLE_MS = 200
/** Registers the gauge of the longest turn since the last scrape. */
export const measureLag = (registry: Registry): void => {
  const meter = createLagMeter(monitorEventLoopDelay({ resolution: PRECISION_MS }))
  let last = performance.eventLoopUtilization()
  const sample = (): void => {
    const now = performance.eventLoopUtilization()
    meter.sample(performance.eventLoopUtilization(now, last).active)
    last = now
    setTimeout(sample, untilNext(SAMPLE_MS)).unref()
  }
  sample()
  new Gauge({
    name: 'nodejs_eventloop_lag_max_seconds',
    help: 'Longest turn of the event loop since the last scrape.',
    aggregator: 'max',
    registers: [registry],
    collect() {
      this.set(meter.longest() / 1000)
    },
  })
}
