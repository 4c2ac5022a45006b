import t from 'tap'
import { metricsOf } from './kit.ts'

t.test('figures are read from Prometheus text', async (t) => {
  const metrics = await metricsOf(
    t,
    `# HELP sidevault_requests_total Requests.
# TYPE sidevault_requests_total counter
sidevault_requests_total{operation="proxy",status="200"} 3
sidevault_requests_total{operation="Tokens.Get",status="200"} 4
sidevault_requests_total{operation="proxy",status="403"} 1

sidevault_audit_backlog_seconds 0.25
sidevault_request_duration_seconds_bucket{le="+Inf",kind="proxy"} 5
sidevault_odd{a="x\\"},y\\\\\\n"} +Inf
nodejs_version_info{version="v24.1.0"} 1
`,
  )
  t.equal(metrics.sum('audit_backlog_seconds'), 0.25)
  t.equal(metrics.sum('requests_total', { operation: 'proxy' }), 4)
  t.equal(metrics.sum('requests_total'), 8)
  t.equal(metrics.sum('missing'), undefined)
  t.same(metrics.of('request_duration_seconds_bucket')[0]?.labels, { le: '+Inf', kind: 'proxy' })
  t.same(metrics.of('odd')[0], { name: 'odd', labels: { a: 'x"},y\\\n' }, value: Number.POSITIVE_INFINITY })
  t.match(metrics.of('nodejs_version_info'), [{ labels: { version: 'v24.1.0' } }], 'of Node')
})
