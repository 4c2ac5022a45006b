import t from 'tap'
import { createMetrics } from '../../src/common/metrics.ts'

t.test(
  'metrics of Node and its process have their stock names, others the name of the program',
  async (t) => {
    const names = createMetrics()
      .registry.getMetricsAsArray()
      .map(({ name }) => name)
    for (const name of [
      'nodejs_eventloop_lag_seconds',
      'nodejs_eventloop_lag_max_seconds',
      'nodejs_gc_duration_seconds',
      'nodejs_heap_size_used_bytes',
      'nodejs_version_info',
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
    ])
      t.ok(names.includes(name), name)
    for (const name of names) t.match(name, /^(sidevault|nodejs|process)_(?!nodejs_)/)
  },
)

t.test('duration histograms have buckets between 0.1 and 1 s', async (t) => {
  const { registry, duration, stage, sandbox } = createMetrics()
  duration.observe({ kind: 'proxy' }, 0.3)
  stage.observe({ stage: 'run' }, 0.3)
  sandbox.seconds.observe({ time: 'cpu' }, 0.3)
  const text = await registry.metrics()
  for (const name of ['request', 'stage', 'sandbox']) {
    t.match(text, new RegExp(`^sidevault_${name}_duration_seconds_bucket\\{le="0.25",.*\\} 0$`, 'm'))
    t.match(text, new RegExp(`^sidevault_${name}_duration_seconds_bucket\\{le="0.5",.*\\} 1$`, 'm'))
  }
})
