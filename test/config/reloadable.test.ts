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
