import { once } from 'node:events'
import { request } from 'node:http'
import { createServer } from 'node:https'
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { CALL_BYTES, TUNNEL_BYTES } from '../../src/control-plane/limits.ts'
import { call, KEYS } from '../kit/egress.ts'
import { startForwardWorld } from '../kit/forward-world.ts'
import { listenFor } from '../kit/listen.ts'
import { secure } from '../kit/tunnel.ts'
import { until } from '../kit/until.ts'

const MIB = 1024 * 1024
/** Few tunnels, which are open before the first of them ends for want of a TLS handshake (5 s). */
const HELD = 24 * MIB
/** A tenant alone gets half. */
const SHARE = HELD / 2

let connect: 'open' | 'tunnel' = 'open'
const world = await startForwardWorld({
  bindings: { connect: () => connect, request: () => ({ surfaces: ['body'] }) },
  bootstrap: { memoryBytes: 96 * MIB },
  gateway: { limits: { heldBytes: HELD } },
})
t.teardown(() => world.close())

interface Open {
  readonly status: number
  destroy(): void
}

/** Opens until one is rejected; returns the number of the others, and ends all. */
const countOpen = async (t: Test, open: () => Promise<Open>): Promise<number> => {
  const all: Open[] = []
  let last: Open
  do {
    last = await open()
    all.push(last)
  } while (last.status === 200)
  t.equal(last.status, 429)
  for (const one of all) one.destroy()
  const isOver = async () => (await world.envoy.stat('cluster.gateway.upstream_rq_active')) === 0
  await until('no call is open', isOver)
  return all.length - 1
}

const tunnel = async (): Promise<Open> => {
  const { status, socket } = await world.connect()
  socket.on('error', () => {})
  return { status, destroy: () => socket.destroy() }
}

for (const [kind, bytes] of [
  ['open', CALL_BYTES + TUNNEL_BYTES],
  ['tunnel', CALL_BYTES],
] as const)
  t.test(`a tunnel ("${kind}") holds its share to its end`, async (t) => {
    connect = kind
    t.equal(await countOpen(t, tunnel), SHARE / bytes)
  })

for (const method of ['GET', 'POST'])
  t.test(`a ${method} without a body holds its share to the end of the response`, async (t) => {
    const sse = async (): Promise<Open> => {
      const sent = request({
        port: world.port,
        agent: false,
        method,
        path: '/proxy/sse?n=100000&ms=1000',
        headers: { 'svc-api-key': KEYS.private, 'svc-proxy-url': world.url(), 'content-length': 0 },
      }).end()
      sent.on('error', () => {})
      const [response] = await once(sent, 'response')
      response.on('error', () => {}).resume()
      return { status: response.statusCode, destroy: () => sent.destroy() }
    }
    t.equal(await countOpen(t, sse), SHARE / CALL_BYTES)
  })

t.test('a WebSocket in a tunnel holds its share to its end', async (t) => {
  connect = 'open'
  const { cert, key } = await world.authority.issue(['api.test'])
  const server = createServer({ cert, key, ALPNProtocols: ['http/1.1'] })
  server.on('upgrade', (_, socket: Socket) => {
    socket.on('error', () => {})
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: x\r\n\r\n',
    )
  })
  const to = `api.test:${await listenFor(t, server)}`
  const webSocket = async (): Promise<Open> => {
    const { status, socket } = await world.connect('api.test', { to })
    socket.on('error', () => {})
    if (status !== 200) return { status, destroy: () => socket.destroy() }
    const tunnel = await secure(socket, 'api.test', { ca: world.ca.pem })
    tunnel.write(
      `GET /chat HTTP/1.1\r\nhost: ${to}\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n`,
    )
    const [head] = await once(tunnel, 'data')
    const [, code] = /^HTTP\/1\.1 (\d+)/.exec(String(head)) ?? []
    return { status: code === '101' ? 200 : Number(code), destroy: () => tunnel.destroy() }
  }
  t.equal(await countOpen(t, webSocket), Math.floor(SHARE / (CALL_BYTES + TUNNEL_BYTES + CALL_BYTES)))
})

/** Resolves when Envoy reads nothing more from the destination. */
const settled = async (): Promise<void> => {
  let [bytes, same] = [-1, 0]
  while (same < 100) {
    const next = await world.envoy.stat('cluster.destination_https.upstream_cx_rx_bytes_total')
    same = next === bytes ? same + 1 : 0
    bytes = next
  }
}

t.test('slow readers in tunnels take no more of Envoy than their shares', async (t) => {
  connect = 'open'
  const tunnels = SHARE / (CALL_BYTES + TUNNEL_BYTES + CALL_BYTES)
  const allocated = async () => Number(JSON.parse(await world.envoy.page('/memory')).allocated)
  const before = await allocated()
  const open = await Promise.all(Array.from({ length: tunnels }, () => world.open()))
  for (const one of open) {
    one.on('error', () => {})
    one.pause()
    one.write(`GET /large?bytes=1000000000000 HTTP/1.1\r\nhost: ${world.authorityOf()}\r\n\r\n`)
  }
  await settled()
  const used = (await allocated()) - before
  t.comment(`${(used / tunnels / 1024).toFixed(0)} KiB each`)
  t.ok(used <= SHARE, `${used} bytes`)
  const other = await call(world.port, '/proxy', { key: KEYS.stranger, method: 'GET', to: world.url() })
  t.equal(other.status, 200)
  for (const one of open) one.destroy()
})
