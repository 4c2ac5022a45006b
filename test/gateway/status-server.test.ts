import { statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createMetrics } from '../../src/common/metrics.ts'
import { unixHttp } from '../../src/common/unix-http.ts'
import { startStatusServer } from '../../src/gateway/status-server.ts'
import { directoryFor } from '../kit/directory.ts'

const ask = async (socketPath: string, path: string, method: 'GET' | 'POST' = 'GET') => {
  const { status, body } = await unixHttp(socketPath, method, path)
  return { status, json: JSON.parse(body) as unknown }
}

t.test('metrics and health are served on a private socket', async (t) => {
  const directory = directoryFor(t)
  const socket = join(directory, 'ops.sock')
  const metrics = createMetrics()
  metrics.requests.inc({ operation: 'proxy', status: '401' })
  let healthy = true
  const ops = await startStatusServer(
    {
      metrics,
      health: async () => {
        if (!healthy) throw new Error('the key file is at /secret')
      },
      parts: { well: async () => ({ missing: ['uid'] }), ill: () => Promise.reject(new Error('no child')) },
    },
    socket,
  )
  t.teardown(() => ops.close())
  t.equal(statSync(socket).mode & 0o777, 0o600)
  const { status, json } = await ask(socket, '/metrics.json')
  t.equal(status, 200)
  const counter = (json as { name: string; values: unknown[] }[]).find(
    ({ name }) => name === 'sidevault_requests_total',
  )
  t.match(counter?.values, [{ value: 1, labels: { operation: 'proxy', status: '401' } }])
  metrics.recent.push({ tenantId: 'ours', at: 5 } as never)
  metrics.recent.push({ tenantId: 'theirs', at: 6 } as never)
  const query = (sent: object) => `/requests.json?${encodeURIComponent(JSON.stringify(sent))}`
  t.match(await ask(socket, query({ tenantId: 'ours', limit: 9 })), {
    status: 200,
    json: [{ tenantId: 'ours', at: 5, node: 'main' }],
  })
  t.equal((await ask(socket, '/requests.json?%')).status, 500)
  metrics.destinations.add('ours', 'api.test', 2)
  metrics.destinations.add('theirs', 'api.test', 3)
  t.match(await ask(socket, '/destinations.json?ours'), {
    status: 200,
    json: { since: Number, destinations: [{ host: 'api.test', calls: 1, tokens: 2 }] },
  })
  t.same(await ask(socket, '/healthz'), { status: 200, json: { status: 'ok' } })
  healthy = false
  t.same(await ask(socket, '/healthz'), { status: 503, json: { status: 'failed' } })
  t.same(await ask(socket, '/healthz/well'), { status: 200, json: { status: 'ok', missing: ['uid'] } })
  t.same(await ask(socket, '/healthz/ill'), { status: 503, json: { status: 'failed' } })
  for (const path of ['/other', '/healthz/other', '/healthz/toString'])
    t.equal((await ask(socket, path)).status, 404)
  t.equal((await ask(socket, '/healthz', 'POST')).status, 405)
})
