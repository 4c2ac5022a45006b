import { join } from 'node:path'
import t from 'tap'
import { createMetrics } from '../../../src/common/metrics.ts'
import { unixHttp } from '../../../src/common/unix-http.ts'
import { startStatusServer } from '../../../src/gateway/status-server.ts'
import { directoryFor } from '../../kit/directory.ts'
import { startTestService } from '../../kit/service.ts'
import { openInThread } from '../../kit/store-in-thread.ts'

const socketSource = (name: string, socketPath: string) => ({
  name,
  metrics: async (signal: AbortSignal) =>
    JSON.parse((await unixHttp(socketPath, 'GET', '/metrics.json', { signal })).body),
})

t.test('metrics of all processes are summed, and processes that respond are up', async (t) => {
  const gateway = createMetrics()
  gateway.requests.inc({ operation: 'proxy', status: 200 }, 5)
  gateway.requests.inc({ operation: 'healthz', status: 200 }, 2)
  gateway.stage.observe({ stage: 'run' }, 0.002)
  gateway.up.set({ process: 'gateway-1' }, 1)
  const socketPath = join(directoryFor(t), 'ops.sock')
  const ops = await startStatusServer({ metrics: gateway, health: async () => {} }, socketPath)
  t.teardown(() => ops.close())
  const { call } = await startTestService(t, {
    openStore: openInThread,
    plugins: [],
    admin: { partTimeout: 1_500 },
    sources: [
      socketSource('gateway-1', socketPath),
      socketSource('gateway-2', `${socketPath}.missing`),
      { name: 'gateway-3', metrics: () => new Promise(() => {}) },
    ],
  })
  await call('GET', '/healthz')
  const response = await call('GET', '/metrics', { key: null })
  t.equal(response.status, 200)
  t.match(response.headers['content-type'], /^text\/plain; version=0\.0\.4/)
  t.match(response.text, /sidevault_requests_total\{operation="proxy",status="200"\} 5\n/)
  t.match(response.text, /sidevault_requests_total\{operation="healthz",status="200"\} 3\n/)
  t.match(response.text, /sidevault_stage_duration_seconds_count\{stage="run"\} 1\n/)
  t.same(response.text.match(/sidevault_process_up\{.*/g)?.sort(), [
    'sidevault_process_up{process="admin"} 1',
    'sidevault_process_up{process="gateway-1"} 1',
    'sidevault_process_up{process="gateway-2"} 0',
    'sidevault_process_up{process="gateway-3"} 0',
  ])
  t.same(
    response.text.match(/nodejs_eventloop_lag_max_seconds\{.*\}/g)?.sort(),
    ['admin', 'gateway-1'].map((process) => `nodejs_eventloop_lag_max_seconds{process="${process}"}`),
  )
})
