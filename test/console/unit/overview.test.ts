import t, { type Test } from 'tap'
import { ApiError } from '../../../src/console/api/client.ts'
import type { Health } from '../../../src/console/api/health.ts'
import type { RequestEntry } from '../../../src/console/api/types.ts'
import { bytes, decimal, milliseconds, percent, quantile } from '../../../src/console/kit/numbers.ts'
import { type Point, plot } from '../../../src/console/kit/plot.ts'
import type { Resource } from '../../../src/console/kit/resource.ts'
import { signal } from '../../../src/console/kit/signals.ts'
import { now, relativeTime } from '../../../src/console/kit/time.ts'
import { callStatistics, timeRange } from '../../../src/console/screens/overview/figures.ts'
import { failureNotices, noticesOf } from '../../../src/console/screens/overview/notices.ts'
import { outageNotice, outageOf } from '../../../src/console/screens/overview/outage.ts'
import { markup, metricsOf, textOf } from './kit.ts'

const NOW = Date.parse('2026-03-01T12:00:00Z')
const MINUTE = 60_000

const call = (ago: number, of: Partial<RequestEntry> = {}): RequestEntry => ({
  id: String(ago),
  trace_id: 't',
  at: new Date(NOW - ago).toISOString(),
  kind: 'proxy',
  method: 'POST',
  route: '/proxy',
  outcome: 'answered',
  duration_ms: 2,
  stages: {},
  tokens: 0,
  rules: [],
  failed: false,
  node: 'gateway-0',
  ...of,
})

t.test('figures of a time span are those of its calls', async (t) => {
  const calls = [
    call(1_000, { duration_ms: 10 }),
    call(30_000, { outcome: 'responded', status: 403, failed: true, duration_ms: 1 }),
    call(2 * MINUTE, { duration_ms: 4 }),
    call(20 * MINUTE),
  ]
  const span = timeRange(5, NOW)
  t.equal(span.to - span.from, 5 * MINUTE)
  const { all, perSecond, coveredFrom, failedShare, p50 } = callStatistics(calls, span, {
    now: NOW,
    isAll: true,
  })
  t.match(all, { calls: 3, p50: 4, p99: 10, failed: 1 })
  t.equal(all.perSecond, 3 / 300)
  t.equal(coveredFrom, span.from)
  t.equal(perSecond.length, 60)
  t.equal(perSecond.filter(([, value]) => (value ?? 0) > 0).length, 3)
  t.equal(perSecond.filter(([, value]) => value === undefined).length, 0, 'no calls are no gap')
  t.same(
    failedShare.filter(([, value]) => value !== undefined).map(([, value]) => value),
    [0, 1, 0],
  )
  t.equal(p50.filter(([, value]) => value !== undefined).length, 3)
})

t.test('a plot has a gap where older calls were not read, and sums start after it', async (t) => {
  const calls = [call(1_000), call(MINUTE), call(2 * MINUTE)]
  const span = timeRange(5, NOW)
  const { all, coveredFrom, perSecond } = callStatistics(calls, span, { now: NOW, isAll: false })
  t.equal(coveredFrom, NOW - 2 * MINUTE)
  t.equal(all.perSecond, 3 / 120)
  t.ok(perSecond.filter(([, value]) => value === undefined).length >= 36)
})

t.test('without calls no figures are shown', async (t) => {
  const { all, p50 } = callStatistics([], timeRange(5, NOW), { now: NOW, isAll: true })
  t.match(all, { calls: 0, perSecond: 0, p50: undefined, p99: undefined, failedShare: undefined })
  t.ok(p50.every(([, value]) => value === undefined))
})

const WELL: Health = { status: 'ok', components: [{ name: 'store', status: 'ok' }] }
const notices = async (t: Test, metrics: string, health = WELL) =>
  noticesOf(health, await metricsOf(t, metrics), NOW).map(({ kind, text }) => `${kind}: ${text}`)
t.test('notices name proxied calls that fail, and no denials', async (t) => {
  const failed = { outcome: 'not_sent', status: 502, failed: true } as const
  const denied = { outcome: 'not_sent', status: 403, failed: true } as const
  t.same(failureNotices([call(1_000), call(2_000, denied)], NOW), [])
  t.match(failureNotices([call(1_000, failed), call(2_000)], NOW), [{ kind: 'warn', text: /^1 of 2 / }])
  t.match(failureNotices([call(1_000, failed)], NOW), [{ kind: 'bad' }])
  t.same(failureNotices([call(6 * MINUTE, failed)], NOW), [])
})

t.test('an outage is since the oldest value that was not renewed', async (t) => {
  const source = (at: number, problem?: ApiError) =>
    ({ state: signal({ kind: 'ready', value: { at }, problem }) }) as unknown as Resource<{ at: number }>
  const down = new ApiError({ title: 'No response', detail: 'Retry.' })
  t.equal(outageOf([source(NOW), source(NOW)]), undefined)
  const outage = outageOf([source(NOW - MINUTE), source(NOW, down), source(NOW - 5_000, down)])
  t.same(outage, { error: down, at: NOW - 5_000 })
  const text = (error: ApiError) => textOf(outageNotice({ error, at: NOW })).trim()
  t.match(text(down), /^The service does not respond Retry\./)
  t.match(text(new ApiError({ status: 503, title: 'Overloaded' })), /^The service does not respond/)
  t.match(text(new ApiError({ status: 429, title: 'Too many calls' })), /^Too many calls/)
})

const seconds = (days: number) => (NOW + days * 86_400_000) / 1_000

t.test('notices: none while everything is healthy', async (t) => {
  t.same(
    await notices(
      t,
      `sidevault_certificate_expiry_timestamp_seconds{certificate="edge"} ${seconds(60)}
sidevault_audit_backlog_seconds 0.2
sidevault_data_disk_free_bytes 50000000000
sidevault_audit_journals_broken 0
sidevault_process_up{process="envoy"} 1
`,
    ),
    [],
  )
  t.same(await notices(t, ''), [], 'nor where a figure does not exist')
})

t.test('notices: errors come first', async (t) => {
  const health: Health = {
    status: 'degraded',
    components: [{ name: 'sandbox', status: 'degraded', missing: ['uid'], since: '2026-03-01T11:00:00Z' }],
  }
  t.same(
    await notices(
      t,
      `sidevault_certificate_expiry_timestamp_seconds{certificate="edge"} ${seconds(10)}
sidevault_certificate_expiry_timestamp_seconds{certificate="forward"} 0
sidevault_audit_backlog_seconds 90
sidevault_data_disk_free_bytes 1048576
sidevault_audit_journals_broken 1
sidevault_process_up{process="gateway-1"} 0
sidevault_redis_up 0
sidevault_records_rejected_total{collection="proxies"} 2
`,
      health,
    ),
    [
      'bad: The audit chain is broken: 1 journal.',
      'bad: 2 stored records were changed outside the service, and are rejected.',
      'bad: Process gateway-1 does not respond.',
      'bad: The certificate “forward” cannot be read.',
      'warn: The certificate “edge” ends soon.',
      'warn: Audit records have waited 90 s to be stored.',
      'warn: The disk of the data directory has 1 MiB free.',
      'warn: Redis does not respond: each process counts rate limits by itself.',
      'warn: Component sandbox is degraded: without uid.',
    ],
  )
})

t.test('numbers have three digits and a unit', async (t) => {
  t.same([0.01234, 1.5, 12.34, 1_204].map(decimal), ['0.0123', '1.5', '12.3', '1,204'])
  t.same([0.42, 12.34, 1_234].map(milliseconds), ['0.42 ms', '12.3 ms', '1.23 s'])
  t.same([0, 512, 1_536, 3 * 1024 ** 2].map(bytes), ['0 B', '512 B', '1.5 KiB', '3 MiB'])
  t.equal(percent(0.1234), '12.3 %')
  t.equal(quantile([1, 2, 3, 4], 0.5), 2)
  t.equal(quantile([], 0.5), undefined)
})

t.test('a plot has a round maximum, gaps, and dots between gaps', async (t) => {
  const plotOf = (values: readonly (number | undefined)[], figure?: number) => {
    const points = values.map((value, at): Point => [at, value])
    return plot({
      title: 'Calls',
      figure,
      series: [{ label: 'calls', points }],
      format: String,
      from: 0,
      to: 4,
    })
  }
  for (const [value, top] of [
    [0, 1],
    [0.3, 0.5],
    [7, 10],
    [11, 20],
    [60, 100],
  ] as const)
    t.match(markup(plotOf([value])), `<span class="top">${top}</span>`)
  t.match(markup(plotOf([1, 2], 300)), '<span class="top">500</span>', 'the figure above it fits')
  t.match(markup(plotOf([0, 1])), 'd=M0.0 72.0L80.0 0.0 ')
  t.match(markup(plotOf([1, undefined, 1])), 'd=M0.0 0.0h0.01M160.0 0.0h0.01 ')
})

t.test('times are relative to the present', async (t) => {
  now.value = NOW
  const shown = (at: number) => textOf(relativeTime(at))
  t.equal(shown(NOW - 5_000), 'just now')
  t.equal(shown(NOW - 5 * MINUTE), '5 minutes ago')
  t.equal(shown(NOW + 3 * 86_400_000), 'in 3 days')
})
