import { once } from 'node:events'
import { createServer, type Server } from 'node:https'
import type { Socket } from 'node:net'
import t from 'tap'
import { startForwardWorld } from '../kit/forward-world.ts'
import { listenFor } from '../kit/listen.ts'

const PROXY = {
  id: 'stored',
  tenantId: 'tenant',
  requireAuth: true,
  configuration: {},
  requestTransform: 'module.exports = ({ args }) => args',
}
const { requestTransform: _, ...plain } = PROXY
const CERTIFIED = { ...plain, destinationTls: { id: 'certificates' } }
const world = await startForwardWorld({
  bindings: {
    connect: () => 'open',
    request: (_, host, at, path) =>
      path === '/transformed'
        ? { proxy: { ...PROXY, destinationUrl: `https://${host}:${at}/transformed` }, rest: '' }
        : path === '/certified'
          ? { proxy: { ...CERTIFIED, destinationUrl: `https://${host}:${at}/certified` }, rest: '' }
          : { surfaces: ['header:authorization', 'query:room'] },
  },
})
const { cert, key } = await world.authority.issue(['api.test'])
const upgrades: (readonly [path: string | undefined, headers: object])[] = []
/** Echoes what comes after the handshake. `/rejected` returns 200. */
const server: Server = createServer({ cert, key, ALPNProtocols: ['http/1.1'] }, (_, response) => {
  response.end('no upgrade')
})
server.on('upgrade', (request, socket: Socket) => {
  upgrades.push([request.url, request.headers])
  if (request.url === '/rejected') {
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nno')
    return
  }
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: x\r\n\r\n',
  )
  socket.on('error', () => {})
  socket.pipe(socket)
})
t.teardown(() => world.close())
const port = await listenFor(t, server)

const handshake = async (path: string, lines: readonly string[] = [], method = 'GET') => {
  const tunnel = await world.open('api.test', { to: `api.test:${port}` })
  tunnel.write(
    [
      `${method} ${path} HTTP/1.1`,
      `host: api.test:${port}`,
      'connection: Upgrade',
      'upgrade: websocket',
      'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version: 13',
      ...lines,
      '',
      '',
    ].join('\r\n'),
  )
  const [head] = await once(tunnel, 'data')
  return { tunnel, head: String(head) }
}

t.test('a WebSocket is opened, and its frames pass unchanged', async (t) => {
  const { tunnel, head } = await handshake("/chat?room={{card|json:'$.cvc'}}", [
    'svc-api-key: other',
    "authorization: Bearer {{ card | json: '$.number' }}",
  ])
  t.match(head, /^HTTP\/1.1 101 /)
  t.match(head, /svc-trace-id: /)
  const [path, headers] = upgrades.at(-1) ?? []
  t.equal(path, '/chat?room=123')
  t.match(headers, {
    upgrade: 'websocket',
    authorization: 'Bearer 4242424242424242',
    'sec-websocket-version': '13',
  })
  t.notOk(headers && 'svc-api-key' in headers)
  const sent = Buffer.alloc(300_000, 'a frame {{ card }} ')
  const received: Buffer[] = []
  let size = 0
  tunnel.on('data', (chunk: Buffer) => {
    received.push(chunk)
    size += chunk.length
    if (size === sent.length) tunnel.end()
  })
  tunnel.write(sent)
  await once(tunnel, 'close')
  t.ok(Buffer.concat(received).equals(sent))
})

t.test('a handshake that the destination rejects opens nothing', async (t) => {
  const { tunnel, head } = await handshake('/rejected')
  t.match(head, /^HTTP\/1.1 200 /)
  t.match(head, /svc-proxy-destination-status: 200\r/)
  t.match(head, /svc-proxy-outcome: answered\r/)
  const before = upgrades.length
  tunnel.write('GET /smuggled HTTP/1.1\r\nhost: api.test\r\n\r\n')
  tunnel.resume()
  if (!tunnel.destroyed) await once(tunnel, 'close')
  t.equal(upgrades.length, before)
})

t.test('a handshake with a body, or through a transform or certificates, is rejected', async (t) => {
  const before = upgrades.length
  for (const [path, method, lines] of [
    ['/chat', 'POST', []],
    ['/chat', 'GET', ['content-length: 3']],
    ['/chat', 'GET', ['content-type: application/json']],
    ['/transformed', 'GET', []],
    ['/certified', 'GET', []],
  ] as const) {
    const { tunnel, head } = await handshake(path, lines, method)
    t.match(head, /^HTTP\/1.1 400 /, `${method} ${path} ${lines}`)
    tunnel.destroy()
  }
  t.equal(upgrades.length, before)
})

t.test('other upgrades are rejected', async (t) => {
  const tunnel = await world.open('api.test', { to: `api.test:${port}` })
  tunnel.write(`GET / HTTP/1.1\r\nhost: api.test:${port}\r\nconnection: Upgrade\r\nupgrade: other\r\n\r\n`)
  const [head] = await once(tunnel, 'data')
  t.match(String(head), /^HTTP\/1.1 400 /)
  tunnel.destroy()
})
