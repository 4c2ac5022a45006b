import t, { type Test } from 'tap'
import type { Log } from '../../src/common/log.ts'
import { parseTraceparent } from '../../src/common/trace-context.ts'
import { startSpan } from '../../src/common/tracing.ts'
import { exportsTraces, traceSettings } from '../../src/roles/trace-settings.ts'
import { startTracing } from '../../src/roles/tracing.ts'
import { startCollector } from '../kit/collector.ts'
import { silentLog } from '../kit/egress.ts'

const ENDPOINT = 'OTEL_EXPORTER_OTLP_ENDPOINT'
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = parseTraceparent(`00-${TRACE}-00f067aa0ba902b7-01`)

/** Tracing of this process, which OpenTelemetry's packages set up by its environment, and what it logged. */
const trace = (t: Test, env: Readonly<Record<string, string>>) => {
  for (const [name, value] of Object.entries(env)) process.env[name] = value
  t.teardown(() => {
    for (const name of Object.keys(env)) delete process.env[name]
  })
  const logged: string[] = []
  const note = (...line: readonly unknown[]) => void logged.push(String(line.at(-1)))
  const log = { ...silentLog(), warn: note, error: note } as unknown as Log
  const tracing = startTracing('test', log)
  t.teardown(() => tracing.close())
  return { tracing, logged }
}

t.test('spans are exported when an endpoint is set, unless the SDK or the exporter is off', async (t) => {
  t.notOk(exportsTraces({}))
  t.notOk(exportsTraces({ [ENDPOINT]: ' ' }))
  t.notOk(exportsTraces({ OTEL_EXPORTER_OTLP_HEADERS: 'a=b', OTEL_SERVICE_NAME: 'a' }))
  for (const name of [ENDPOINT, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']) {
    t.ok(exportsTraces({ [name]: 'http://collector:4318' }))
    t.notOk(exportsTraces({ [name]: 'http://collector:4318', OTEL_SDK_DISABLED: 'TRUE' }))
    t.notOk(exportsTraces({ [name]: 'http://collector:4318', OTEL_TRACES_EXPORTER: 'none' }))
  }
})

t.test('samplers and batches have the names and values of the specification', async (t) => {
  const settings = (env: Readonly<Record<string, string>>) =>
    traceSettings({ [ENDPOINT]: 'http://c', ...env })
  t.match(settings({}), { sampler: { root: 'always_on', isParentBased: true }, batch: {}, warnings: [] })
  const ratio = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' }
  t.same(settings(ratio)?.sampler, { root: 'traceidratio', isParentBased: true, ratio: 0.25 })
  t.match(settings({ OTEL_TRACES_SAMPLER: 'always_off' })?.sampler, {
    root: 'always_off',
    isParentBased: false,
  })
  t.same(settings({ OTEL_BSP_MAX_QUEUE_SIZE: '64' })?.batch, { maxQueueSize: 64 })
  for (const env of [
    { OTEL_TRACES_SAMPLER: 'sometimes-42' },
    { ...ratio, OTEL_TRACES_SAMPLER_ARG: '42' },
    { OTEL_BSP_SCHEDULE_DELAY: '-42' },
    { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc-42' },
  ]) {
    const warnings = settings(env)?.warnings ?? []
    t.equal(warnings.length, 1)
    t.notMatch(warnings[0], /42/, 'values are not quoted')
  }
  for (const url of ['collector:4318', 'grpc://c', 'x'])
    t.equal(traceSettings({ [ENDPOINT]: url }), undefined)
})

t.test('an endpoint that is no URL exports nothing, and is logged without it', async (t) => {
  const { logged } = trace(t, { [ENDPOINT]: 'user:secret@collector' })
  t.equal(startSpan('call', PARENT, TRACE), undefined)
  t.equal(logged.length, 1)
  t.notMatch(logged[0], /secret/)
})

t.test('a span is below that of the caller, or the first of a trace with the id of the call', async (t) => {
  const collector = await startCollector()
  t.teardown(() => collector.close())
  const { tracing, logged } = trace(t, { [ENDPOINT]: collector.url })
  const child = startSpan('child', PARENT, 'mine')
  t.match(child?.context, { traceId: TRACE, isSampled: true })
  const first = startSpan('first', undefined, TRACE)
  t.equal(first?.context.traceId, TRACE)
  const other = startSpan('other', undefined, 'mine')
  t.match(other?.context.traceId, /^(?!4bf92f)[0-9a-f]{32}$/, 'the id of the call is no id of a trace')
  for (const span of [child, first, other]) span?.end()
  child?.end()
  await tracing.close()
  t.same(
    collector.spans().map(({ name, parentSpanId }) => [name, parentSpanId]),
    [
      ['child', '00f067aa0ba902b7'],
      ['first', ''],
      ['other', ''],
    ],
  )
  t.same(logged, [])
})

t.test('a caller decides whether its spans are recorded, unless a sampler says otherwise', async (t) => {
  const collector = await startCollector()
  t.teardown(() => collector.close())
  for (const [sampler, sampled, decision] of [
    ['parentbased_always_on', '00', false],
    ['always_off', '01', false],
    ['always_on', '00', true],
  ] as const)
    await t.test(`${sampler}, flags ${sampled}`, async (t) => {
      const { tracing } = trace(t, { [ENDPOINT]: collector.url, OTEL_TRACES_SAMPLER: sampler })
      const before = collector.spans().length
      const span = startSpan('call', parseTraceparent(`00-${TRACE}-00f067aa0ba902b7-${sampled}`), TRACE)
      t.equal(span?.context.isSampled, decision)
      t.not(span?.context.spanId, '00f067aa0ba902b7')
      span?.end()
      await tracing.close()
      t.equal(collector.spans().length - before, decision ? 1 : 0)
    })
})

t.test('a collector that never responds costs a bounded queue, and does not hold the end', async (t) => {
  const collector = await startCollector(() => undefined)
  t.teardown(() => collector.close())
  const { tracing } = trace(t, {
    [ENDPOINT]: collector.url,
    OTEL_BSP_MAX_QUEUE_SIZE: '8',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '4',
  })
  for (let turn = 0; turn < 100; turn++) startSpan('call', PARENT, TRACE)?.end()
  await tracing.close()
  t.ok(collector.spans().length <= 12, 'a batch on its way, and the queue')
  t.equal(startSpan('call', PARENT, TRACE), undefined, 'and no span is started any more')
})
