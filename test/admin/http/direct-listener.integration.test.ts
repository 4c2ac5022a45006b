/**
 * The listener without Envoy meets what Envoy would have met: each attack on a bare socket, and the response read to
 * its end.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import t, { type Test } from 'tap'
import { createAuthority } from '../../kit/authority.ts'
import { type ServiceOptions, startTestService } from '../../kit/service.ts'
import { openInThread } from '../../kit/store-in-thread.ts'

const setUp = async (t: Test, admin: ServiceOptions['admin'] = {}, direct: object = {}) => {
  const service = await startTestService(t, {
    openStore: openInThread,
    admin: {
      checkInterval: 20,
      headersTimeout: 300,
      requestTimeout: 600,
      ...admin,
      direct: { host: '127.0.0.1', port: 0, drainMs: 2_000, ...direct },
    },
  })
  const address = service.admin.direct?.address ?? ''
  return { service, address, port: Number(new URL(address).port), key: service.managementKey }
}

/** All that comes back until the other side closes. */
const everything = async (socket: Socket): Promise<string> => {
  const chunks: Buffer[] = []
  socket.on('error', () => {})
  socket.on('data', (chunk) => chunks.push(chunk))
  if (!socket.closed) await once(socket, 'close')
  return Buffer.concat(chunks).toString('latin1')
}

const exchange = async (port: number, ...parts: readonly (string | Buffer)[]): Promise<string> => {
  const socket = connect(port, '127.0.0.1')
  for (const part of parts) socket.write(part)
  return everything(socket)
}

const responsesIn = (text: string): readonly string[] => text.split(/(?=HTTP\/1\.1 \d{3} )/).filter(Boolean)
const statusesIn = (text: string): readonly number[] =>
  responsesIn(text).map((response) => Number(response.slice(9, 12)))
const problemIn = (text: string) => JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4))

const HOST = 'host: a\r\n'
const CLOSE = 'connection: close\r\n'
const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\n${HOST}${headers}\r\n`

t.test('requests that Envoy would reject get the same problem, and the connection closes', async (t) => {
  const { port } = await setUp(t)
  const rejected: readonly (readonly [what: string, request: string, status: number])[] = [
    ['no host', `GET /healthz HTTP/1.1\r\n\r\n`, 400],
    ['two hosts', get('/healthz', 'Host: b\r\n'), 400],
    ['HTTP/1.0', `GET /healthz HTTP/1.0\r\n${HOST}\r\n`, 426],
    ['HTTP/2.0 in a request line', `GET /healthz HTTP/2.0\r\n${HOST}\r\n`, 426],
    ['the preface of HTTP/2 and gRPC', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 426],
    ['an upgrade', get('/healthz', 'connection: keep-alive, Upgrade\r\nupgrade: websocket\r\n'), 400],
    ['an upgrade to h2c', get('/healthz', 'connection: upgrade\r\nupgrade: h2c\r\n'), 400],
    ['a tunnel', `CONNECT a:443 HTTP/1.1\r\n${HOST}\r\n`, 405],
    ['a fragment', get('/healthz#x'), 400],
    ['251 header lines', get('/healthz', 'x: y\r\n'.repeat(250)), 431],
    ['3,000 header lines', get('/healthz', 'x: y\r\n'.repeat(3_000)), 431],
    ['headers above 64 KiB', get('/healthz', `x: ${'y'.repeat(66_000)}\r\n`), 431],
    ['a path above 64 KiB', get(`/${'y'.repeat(66_000)}`), 431],
    ['an unknown method', `BREW /healthz HTTP/1.1\r\n${HOST}\r\n`, 405],
    [
      'a coding besides chunked',
      `POST /tokenize HTTP/1.1\r\n${HOST}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
  ]
  for (const [what, request, status] of rejected) {
    const text = await exchange(port, request)
    t.same(statusesIn(text), [status], what)
    const [, body] = text.split('\r\n\r\n')
    t.match(JSON.parse(body ?? ''), { status, code: String, type: /^\/docs\/errors#/ }, what)
    t.match(text, /\r\nsvc-trace-id: .+\r\n/i, what)
    t.match(text, /\r\nconnection: close\r\n/i, what)
  }
})

t.test('request smuggling is rejected', async (t) => {
  const { port } = await setUp(t)
  const hidden = get('/metrics', CLOSE)
  const post = (headers: string, body: string) => `POST /tokenize HTTP/1.1\r\n${HOST}${headers}\r\n${body}`
  const smuggled: readonly (readonly [what: string, request: string])[] = [
    [
      'content-length and chunked',
      post('content-length: 4\r\ntransfer-encoding: chunked\r\n', `0\r\n\r\n${hidden}`),
    ],
    [
      'chunked and content-length',
      post('transfer-encoding: chunked\r\ncontent-length: 4\r\n', `0\r\n\r\n${hidden}`),
    ],
    ['two lengths', post('content-length: 0\r\ncontent-length: 40\r\n', hidden)],
    ['a list of lengths', post('content-length: 0, 40\r\n', hidden)],
    ['a signed length', post('content-length: +0\r\n', hidden)],
    ['a negative length', post('content-length: -1\r\n', hidden)],
    ['chunked twice', post('transfer-encoding: chunked, chunked\r\n', `0\r\n\r\n${hidden}`)],
    ['chunked that is not last', post('transfer-encoding: chunked, identity\r\n', `0\r\n\r\n${hidden}`)],
    ['a coding with a control character', post('transfer-encoding: \x0bchunked\r\n', `0\r\n\r\n${hidden}`)],
    ['a blank before the colon', post('transfer-encoding : chunked\r\n', `0\r\n\r\n${hidden}`)],
    ['a folded header', post('x: y\r\n transfer-encoding: chunked\r\n', `0\r\n\r\n${hidden}`)],
    ['a bare line feed between headers', post('x: y\ntransfer-encoding: chunked\r\n', `0\r\n\r\n${hidden}`)],
    ['a bare carriage return in a value', post('x: y\rtransfer-encoding: chunked\r\n', `0\r\n\r\n${hidden}`)],
    ['a null byte in a value', post('x: y\0z\r\n', hidden)],
    ['a chunk size with a sign', post('transfer-encoding: chunked\r\n', `+0\r\n\r\n${hidden}`)],
    [
      'a chunk size that overflows',
      post('transfer-encoding: chunked\r\n', `fffffffffffffffff0\r\n${hidden}`),
    ],
    ['a chunk without its end', post('transfer-encoding: chunked\r\n', `1\r\nab\r\n0\r\n\r\n${hidden}`)],
    ['a header without a name', post(': y\r\n', hidden)],
    [
      'a body of a GET',
      `GET /nothing HTTP/1.1\r\n${HOST}content-length: ${hidden.length}\r\n${CLOSE}\r\n${hidden}`,
    ],
  ]
  for (const [what, request] of smuggled) {
    const text = await exchange(port, request)
    t.equal(statusesIn(text).length, 1, what)
    t.notMatch(text, /sidevault_process_up/, `${what}: /metrics was not asked`)
    t.ok((statusesIn(text)[0] ?? 0) >= 400, what)
  }
})

t.test('slow headers, slow bodies and silent connections are closed', async (t) => {
  const { port, key } = await setUp(t)
  t.same(statusesIn(await exchange(port, 'GET /healthz HTT')), [408])
  t.same(statusesIn(await exchange(port)), [408], 'nothing was sent at all')
  const slow = `POST /tokenize HTTP/1.1\r\n${HOST}svc-api-key: ${key}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n["a`
  t.same(statusesIn(await exchange(port, slow)), [408])
})

t.test('a body is read only after the key is verified, and not after the response', async (t) => {
  const { port } = await setUp(t, { requestTimeout: 60_000 })
  const socket = connect(port, '127.0.0.1')
  socket.write(`POST /tokenize HTTP/1.1\r\n${HOST}svc-api-key: unknown\r\ncontent-length: 1000000000\r\n\r\n`)
  const [first] = await once(socket, 'data')
  t.match(String(first), /^HTTP\/1\.1 401 /)
  socket.on('error', () => {})
  await once(socket, 'close')
  t.pass('the rest of the gigabyte is not waited for')
})

t.test('pipelined requests are served in order, up to a limit', async (t) => {
  const { port, key } = await setUp(t)
  const body = JSON.stringify({ id: 'mine', type: 'token', data: 'x' })
  const application = JSON.stringify({
    name: 'a',
    type: 'private',
    permissions: ['token:create', 'token:read'],
  })
  const created = await exchange(
    port,
    `POST /applications HTTP/1.1\r\n${HOST}svc-api-key: ${key}\r\ncontent-type: application/json\r\ncontent-length: ${application.length}\r\n${CLOSE}\r\n${application}`,
  )
  const own = problemIn(created).key
  const text = await exchange(
    port,
    `POST /tokens HTTP/1.1\r\n${HOST}svc-api-key: ${own}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}` +
      get('/tokens/mine', `svc-api-key: ${own}\r\n`) +
      get('/healthz', CLOSE),
  )
  t.same(statusesIn(text), [201, 200, 200], 'the read sees what the request before it created')
  const broken = await exchange(
    port,
    `${get('/tokens/mine', `svc-api-key: ${own}\r\n`)}GET / HTTP/1.1\r\nno header\r\n\r\n`,
  )
  t.same(statusesIn(broken), [200, 400], 'a malformed request gets its response after the one before it')
  const tunnel = await exchange(
    port,
    `${get('/tokens/mine', `svc-api-key: ${own}\r\n`)}CONNECT a:443 HTTP/1.1\r\n${HOST}\r\n`,
  )
  t.same(statusesIn(tunnel), [200, 405], 'a tunnel too')
  const flood = await exchange(port, get('/healthz').repeat(1_000))
  t.ok(statusesIn(flood).length < 1_000, 'a flood ends with the connection')
})

t.test('identity headers sent by callers are ignored', async (t) => {
  const seen: (string | undefined)[] = []
  const { port, key } = await setUp(t, {
    admit: async ({ address }) => {
      seen.push(address)
    },
  })
  const headers =
    'x-forwarded-for: 9.9.9.9\r\nx-sidevault-client-address: 9.9.9.9\r\nx-forwarded-proto: https\r\n'
  const body = '{"name":"a","type":"private","permissions":["token:read"]}'
  const text = await exchange(
    port,
    `POST /applications HTTP/1.1\r\n${HOST}${headers}svc-api-key: ${key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n${CLOSE}\r\n${body}`,
  )
  t.same(statusesIn(text), [201])
  t.match(text, /location: http:\/\/a\/applications\//i, 'the scheme is that of the connection')
  t.same(seen, ['127.0.0.1'], 'the address too')
})

t.test('a request target in absolute form is routed by its path', async (t) => {
  const { port } = await setUp(t)
  t.same(statusesIn(await exchange(port, `GET http://b/healthz?x=1 HTTP/1.1\r\n${HOST}${CLOSE}\r\n`)), [200])
  t.same(statusesIn(await exchange(port, `OPTIONS * HTTP/1.1\r\n${HOST}${CLOSE}\r\n`)), [404])
})

t.test('connections above the limit are closed', async (t) => {
  const { port } = await setUp(t, { requestTimeout: 60_000, headersTimeout: 60_000 }, { connections: 2 })
  const open = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')]
  await Promise.all(
    open.map(async (socket) => {
      socket.write(get('/healthz'))
      await once(socket, 'data')
    }),
  )
  t.equal(await exchange(port, get('/healthz')), '')
  for (const socket of open) socket.destroy()
})

t.test('shutdown lets requests in flight finish and closes idle connections', async (t) => {
  const { port, service, key } = await setUp(t, { requestTimeout: 60_000 })
  const idle = connect(port, '127.0.0.1')
  idle.write(get('/healthz'))
  await once(idle, 'data')
  const busy = connect(port, '127.0.0.1')
  const response = everything(busy)
  const body = '{"name":"a","type":"private","permissions":["token:read"]}'
  busy.write(
    `POST /applications HTTP/1.1\r\n${HOST}svc-api-key: ${key}\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: ${body.length}\r\n\r\n`,
  )
  await once(busy, 'data')
  const closing = service.admin.close()
  await once(idle, 'close')
  busy.write(body)
  t.match(await response, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 /)
  await closing
  await t.rejects(once(connect(port, '127.0.0.1'), 'connect'), { code: 'ECONNREFUSED' })
})

t.test('TLS: old versions and plain HTTP are closed, and a new certificate is used at once', async (t) => {
  const authority = await createAuthority()
  const [first, second] = await Promise.all([authority.issue(['127.0.0.1']), authority.issue(['127.0.0.1'])])
  const { port, service } = await setUp(t, {}, { identity: { certificate: first.cert, key: first.key } })
  const secure = async (options: object = {}) => {
    const socket = connectTls({ host: '127.0.0.1', port, ca: authority.pem, ...options })
    socket.on('error', () => {})
    await once(socket, 'secureConnect')
    return socket
  }
  const used = async () => {
    const socket = await secure()
    socket.write(get('/healthz', CLOSE))
    const serial = socket.getPeerCertificate().fingerprint256
    return { serial, text: await everything(socket) }
  }
  const before = await used()
  t.same(statusesIn(before.text), [200])
  await t.rejects(secure({ maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'ALL@SECLEVEL=0' }))
  await t.rejects(secure({ ALPNProtocols: ['h2'] }), 'gRPC and HTTP/2')
  t.equal(await exchange(port, get('/healthz')), '', 'plain HTTP gets nothing')
  const held = await secure()
  service.admin.direct?.renew({ certificate: second.cert, key: second.key })
  const after = await used()
  t.not(after.serial, before.serial)
  held.write(get('/healthz', CLOSE))
  t.same(statusesIn(await everything(held)), [200], 'open connections stay')
  t.throws(() => service.admin.direct?.renew({ certificate: first.cert, key: second.key }))
  t.equal((await used()).serial, after.serial, 'a certificate that does not fit its key changes nothing')
})
