import { createServer } from 'node:http'
import t, { type Test } from 'tap'
import { createAgents } from '../../src/egress/agents.ts'
import { listenFor } from '../kit/listen.ts'

/** A server that keeps connections open, and requests to it under different names. */
const open = async (t: Test, options: { readonly idleMs?: number }) => {
  let connections = 0
  const closed = Promise.withResolvers<void>()
  const server = createServer((_, response) => {
    response.setHeader('keep-alive', 'timeout=600').end('x')
  })
  server.keepAliveTimeout = 0
  server.on('connection', (socket) => {
    connections++
    socket.once('close', () => --connections === 0 && closed.resolve())
  })
  const port = await listenFor(t, server)
  const agents = createAgents(async () => [{ address: '127.0.0.1', family: 4 }], {
    trust: '',
    timeoutMs: 60_000,
    ...options,
  })
  t.teardown(() => agents.close())
  const get = (tenantId: string, host: number): Promise<string> =>
    agents
      .use(tenantId, async (agent) => {
        const response = await agent.request({
          origin: `http://${host}.test:${port}`,
          path: '/',
          method: 'GET',
        })
        return response.body.text()
      })
      .catch((error) => error.code)
  return { get, closed: closed.promise, connections: () => connections }
}

t.test("idle connections use only one tenant's share", async (t) => {
  const { get, connections } = await open(t, { idleMs: 3_600_000 })
  const bodies: string[] = []
  for (let host = 0; host < 600; host++) bodies.push(await get('greedy', host))
  t.equal(bodies.filter((body) => body === 'x').length, 512)
  t.equal(bodies.filter((body) => body === 'rate_limited').length, 600 - 512)
  t.equal(connections(), 512)
  t.equal(await get('other', 0), 'x')
  t.equal(await get('greedy', 0), 'x', 'over a connection that it has')
})

t.test('an idle connection ends although its destination allows more', { timeout: 60_000 }, async (t) => {
  const { get, closed } = await open(t, {})
  t.equal(await get('one', 0), 'x')
  await closed
})
