import type { Socket } from 'node:net'
import t from 'tap'
import type { Check, CheckedCall } from '../../src/sdk/index.ts'
import { startForwardWorld } from '../kit/forward-world.ts'

let isDenied = false
const seen: CheckedCall[] = []
const check = (on: 'request' | 'response'): Check => ({
  name: on,
  on,
  fail: 'closed',
  handle: async (call) => {
    seen.push(call)
    return isDenied && on === 'request' ? { deny: { code: 'no', detail: 'No.' } } : undefined
  },
})

const world = await startForwardWorld({
  deps: { checks: (['request', 'response'] as const).map((on) => ({ plugin: 'mine', check: check(on) })) },
  bindings: {
    connect: (_, host) => (host === 'free.test' ? 'tunnel' : 'open'),
    request: () => ({ surfaces: ['body'] as const }),
  },
})
t.teardown(() => world.close())
t.beforeEach(() => {
  isDenied = false
  seen.length = 0
})

const JSON_TYPE = { 'content-type': 'application/json' }
const TEXT = `{"card":"{{ card | json: '$.number' }}"`
const BODIES = {
  'with a length': `${TEXT}}`,
  'in pieces': [TEXT, '}'],
  'an upload': [TEXT, ',"more":"', ...Array.from({ length: 9 }, () => 'x'.repeat(1024 ** 2)), '"}'],
}

for (const protocol of ['request', 'request2'] as const)
  t.test(`requests in tunnels are checked, over ${protocol}`, async (t) => {
    for (const [name, body] of Object.entries(BODIES)) {
      seen.length = 0
      const got = await world[protocol]({ body, headers: JSON_TYPE })
      t.equal(got.status, 200, name)
      t.match(
        seen[0],
        { method: 'POST', destination: { host: 'api.test' }, application: { id: 'private' } },
        name,
      )
      t.ok(
        seen.some(({ tokens }) => tokens[0]?.id === 'card'),
        name,
      )
      t.match(seen.at(-1), { response: { status: 200 } }, name)
    }
    t.equal((await world[protocol]({ method: 'HEAD' })).status, 200)
    t.match(seen.at(-1), { method: 'HEAD', response: { status: 200 } })
    isDenied = true
    world.destination.received.length = 0
    const denied = await world[protocol]({ body: BODIES['with a length'], headers: JSON_TYPE })
    t.match(denied, { status: 403, text: /denied_by_plugin/ })
    t.equal(world.destination.received.length, 0)
  })

t.test('a tunnel that is passed on unopened is checked by its CONNECT', async (t) => {
  const opened = await world.connect('api.test')
  t.equal(opened.status, 200)
  opened.socket.destroy()
  t.same(seen, [], 'inside an opened one, each request is')
  const passed = await world.connect('free.test')
  t.equal(passed.status, 200)
  passed.socket.destroy()
  t.match(seen, [{ method: 'CONNECT', destination: { scheme: 'https', host: 'free.test' }, tokens: [] }])
  isDenied = true
  const { status, body, socket } = await world.connect('free.test')
  ;(socket as Socket | undefined)?.destroy()
  t.equal(status, 403)
  t.match(body, 'denied_by_plugin')
})

t.test('the handshake of a WebSocket is checked', async (t) => {
  isDenied = true
  const tunnel = await world.open('api.test')
  tunnel.write(
    [
      'GET /socket HTTP/1.1',
      `host: ${world.authorityOf()}`,
      'connection: Upgrade',
      'upgrade: websocket',
      'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version: 13',
      '',
      '',
    ].join('\r\n'),
  )
  const [head] = await new Promise<[Buffer]>((resolve) => tunnel.once('data', (data) => resolve([data])))
  t.match(head.toString(), /^HTTP\/1\.1 403 /)
  t.match(seen, [{ method: 'GET', tokens: [] }])
  tunnel.destroy()
})
