import t from 'tap'
import { liveChanges } from '../../src/config/reloadable.ts'

t.test('reloadable settings are applied, others need a restart, variables override the file', (t) => {
  const before = { workers: 1, egress_allow: ['10.0.0.0/8'], egress_http: true, proxy_body_limit: 4096 }
  const after = { workers: 2, egress_allow: [], proxy_body_limit: 8192, egress_ports: ['*'] }
  t.same(liveChanges(before, after, { SIDEVAULT_PROXY_BODY_LIMIT: '2048' }), {
    content: { workers: 1, egress_allow: [], egress_ports: ['*'], proxy_body_limit: 4096 },
    applied: ['egress_allow', 'egress_ports', 'egress_http'],
    waiting: ['workers'],
  })
  t.same(liveChanges(before, before, {}), { content: before, applied: [], waiting: [] })
  t.end()
})

t.test('TLS turned on or off needs a restart, another certificate does not', (t) => {
  const [off, on] = [{}, { tls_cert: 'a.pem', tls_key: 'a.key' }]
  const other = { tls_cert: 'b.pem', tls_key: 'b.key' }
  const names = ['tls_cert', 'tls_key']
  t.same(liveChanges(off, on, {}), { content: off, applied: [], waiting: names })
  t.same(liveChanges(on, off, {}), { content: on, applied: [], waiting: names })
  t.same(liveChanges(on, other, {}), { content: other, applied: names, waiting: [] })
  const env = { SIDEVAULT_TLS_CERT: 'a.pem', SIDEVAULT_TLS_KEY: 'a.key' }
  t.same(liveChanges(off, on, env), { content: off, applied: [], waiting: [] })
  t.end()
})
