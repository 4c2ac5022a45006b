import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import t from 'tap'
import { ERRORS, type ErrorCode } from '../../src/common/errors.ts'
import { createAuthority } from '../kit/authority.ts'
import { startDestination } from '../kit/destination.ts'
import { directoryFor } from '../kit/directory.ts'
import { KEYS, startWorld, TOKENS, type World } from '../kit/egress.ts'
import { listenFor } from '../kit/listen.ts'
import { LONG } from '../kit/long.ts'

const h1 = await startWorld()
const two = await startWorld({ protocol: 'h2' })
t.teardown(async () => {
  await h1.close()
  await two.close()
})

interface Http2Response {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Buffer
}

const http2Call = async (
  session: ClientHttp2Session,
  headers: Record<string, string>,
  body?: Buffer | 'only trailers',
): Promise<Http2Response> => {
  const stream = session.request(headers, {
    endStream: body === undefined,
    waitForTrailers: body === 'only trailers',
  })
  if (body === 'only trailers') {
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-trailer': 'y' }))
    stream.end()
  } else if (body !== undefined) stream.end(body)
  const [response] = (await once(stream, 'response')) as [Record<string, unknown>]
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return { status: Number(response[':status']), headers: response, body: Buffer.concat(chunks) }
}

const proxied = (world: World, path = '') => ({
  ':method': 'POST',
  ':path': '/proxy/x',
  'svc-api-key': KEYS.private,
  'svc-proxy-url': world.url(path),
  'content-type': 'text/plain',
})

for (const [name, world, version] of [
  ['HTTP/1.1', h1, '1.1'],
  ['HTTP/2', two, '2.0'],
] as const)
  t.test(
    `bodies of every size reach an ${name} destination unchanged, over HTTP/1.1 and HTTP/2`,
    async (t) => {
      const session = connectHttp2(`http://127.0.0.1:${world.port}`)
      t.teardown(() => session.destroy())
      for (const size of [0, 1, 1000, 100_000, 1_000_000, 8 * 1024 * 1024]) {
        const body = randomBytes(size)
        world.destination.received.length = 0
        const first = await world.post('/proxy/status/200', {
          to: world.url(),
          body,
          headers: { 'content-type': 'application/octet-stream' },
        })
        const second = await http2Call(
          session,
          { ...proxied(world), ':path': '/proxy/status/200', 'content-type': 'application/octet-stream' },
          body,
        )
        t.same([first.status, second.status], [200, 200])
        t.equal(world.destination.received.length, 2)
        for (const received of world.destination.received) {
          t.equal(received.httpVersion, version)
          t.ok(received.body?.equals(body), `${size} bytes`)
        }
      }
      const replaced = await http2Call(session, proxied(world), Buffer.from('a {{ name | raw }}'))
      t.equal(replaced.status, 200)
      t.equal(replaced.headers['svc-proxy-destination-status'], '200')
      t.equal(world.destination.received.at(-1)?.body?.toString(), `a ${TOKENS.name?.data}`)
    },
  )

t.test('an HTTP/2 request with trailers and no data is not forwarded', async (t) => {
  const session = connectHttp2(`http://127.0.0.1:${h1.port}`)
  t.teardown(() => session.destroy())
  h1.destination.received.length = 0
  const response = await http2Call(session, proxied(h1), 'only trailers')
  t.equal(response.status, 504)
  t.same(h1.destination.received, [])
})

t.test('many requests share connections, and no stream reset loses one', async (t) => {
  const session = connectHttp2(`http://127.0.0.1:${h1.port}`)
  t.teardown(() => session.destroy())
  let failed = 0
  for (let round = 0; round < 30; round++) {
    const responses = await Promise.all(
      Array.from({ length: 50 }, () => http2Call(session, proxied(h1), Buffer.from('{{ name | raw }}'))),
    )
    failed += responses.filter(({ status }) => status !== 200).length
  }
  t.equal(failed, 0, '1,500 requests, more than the resets that Node allows by itself')
  t.equal(await h1.envoy.stat('cluster.gateway.upstream_cx_total'), 1)
})

t.test('server-sent events arrive without delay', async (t) => {
  const request = get({
    host: '127.0.0.1',
    port: h1.port,
    path: `/proxy/sse?n=2&ms=${24 * 3_600_000}`,
    headers: { 'svc-api-key': KEYS.private, 'svc-proxy-url': h1.url() },
  })
  const [response] = await once(request, 'response')
  const [event] = await once(response, 'data')
  t.equal(String(event), 'data: 0\n\n', 'a day before the next one is sent')
  response.destroy()
})

t.test('200 MB stream through without being buffered', async (t) => {
  const bytes = 200_000_000
  for (const world of [h1, two]) {
    const request = get({
      host: '127.0.0.1',
      port: world.port,
      path: `/proxy/large?bytes=${bytes}`,
      headers: { 'svc-api-key': KEYS.private, 'svc-proxy-url': world.url() },
    })
    const [response] = await once(request, 'response')
    let length = 0
    for await (const chunk of response) length += chunk.length
    t.equal(length, bytes)
    if (!LONG) continue
    const peak = /VmHWM:\s+(\d+) kB/.exec(
      readFileSync(`/proc/${world.envoy.process.pid}/status`, 'utf8'),
    )?.[1]
    t.ok(Number(peak) < 220_000, `Envoy's peak is ${peak} kB`)
  }
})

t.test('a truncated response is truncated for the caller too', async (t) => {
  await t.rejects(h1.post('/proxy/halfway', { method: 'GET', to: h1.url() }))
})

t.test('a response that is not valid HTTP is 502 "bad_gateway"', async (t) => {
  const { cert, key } = await h1.authority.issue(['garbage.test'])
  h1.dns.set('garbage.test', { a: ['127.0.0.1'] })
  const server = createTlsServer({ cert, key, ALPNProtocols: ['http/1.1'] }, (socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end('garbage\r\n\r\n'))
  })
  const port = await listenFor(t, server)
  const response = await h1.post('/proxy', { method: 'GET', to: `https://garbage.test:${port}` })
  t.match(response, { status: 502, json: { proxy_error: { code: 'bad_gateway' } } })
})

t.test('a compressed response keeps its bytes and its coding', async (t) => {
  const response = await h1.post('/proxy/gzip', { method: 'GET', to: h1.url() })
  t.equal(response.headers['content-encoding'], 'gzip')
})

t.test('a response may have many and large headers', async (t) => {
  for (const far of [h1, two])
    for (const [n, bytes] of [
      [900, 1],
      [8, 1_500],
    ] as const) {
      const response = await far.post(`/proxy/headers?n=${n}&bytes=${bytes}`, {
        method: 'GET',
        to: far.url(),
      })
      t.equal(response.status, 200)
      t.equal(response.headers[`x-header-${n - 1}`], 'v'.repeat(bytes))
    }
})

t.test('the listener speaks TLS with HTTP/1.1 and HTTP/2', async (t) => {
  const authority = await createAuthority()
  const { cert, key } = await authority.issue(['edge.test'])
  const world = await startWorld({ bootstrap: { tls: { certificate: cert, key } } })
  t.teardown(() => world.close())
  const session = connectHttp2(`https://127.0.0.1:${world.port}`, {
    ca: authority.pem,
    servername: 'edge.test',
  })
  t.teardown(() => session.destroy())
  const response = await http2Call(session, proxied(world), Buffer.from('{{ name | raw }}'))
  t.equal(response.status, 200)
  t.equal(world.destination.received[0]?.headers['x-forwarded-proto'], undefined)
})

t.test('the demo destination is reached by its name without DNS, with its own authority', async (t) => {
  const authority = await createAuthority()
  // Not t.testdir: a socket's path may have 108 bytes only.
  const directory = directoryFor(t)
  writeFileSync(join(directory, 'demo.pem'), authority.pem)
  const demo = await startDestination(await authority.issue(['demo.sidevault.test']), {
    socketPath: join(directory, 'demo.sock'),
  })
  t.teardown(() => demo.close())
  const world = await startWorld({
    bootstrap: {
      demo: {
        socket: join(directory, 'demo.sock'),
        authority: join(directory, 'demo.pem'),
        host: 'demo.sidevault.test',
      },
    },
    gateway: { demoHost: 'demo.sidevault.test' },
  })
  t.teardown(() => world.close())
  const headers = { 'content-type': 'text/plain' }
  const to = 'https://demo.sidevault.test/base'
  const response = await world.post('/proxy/x', { to, headers, body: '{{ name | raw }}' })
  t.equal(response.status, 200, response.text)
  t.equal(response.headers['svc-proxy-destination-status'], '200')
  t.equal(demo.received[0]?.body?.toString(), TOKENS.name?.data)
  t.equal(demo.received[0]?.headers.host, 'demo.sidevault.test')
  t.same(world.dns.asked, [])
  const elsewhere = await world.post('/proxy', { to: 'https://demo.sidevault.test:8443', headers, body: 'x' })
  t.equal(elsewhere.status, 502, 'another port is an ordinary destination')
  const off = await h1.post('/proxy', { to, headers, body: 'x' })
  t.equal(off.status, 502, 'without the option it is an ordinary name')
})

const raw = async (port: number, text: string): Promise<string> => {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(text)
  let response = ''
  socket.setTimeout(60_000, () => socket.destroy(new Error(`no response to ${text.slice(0, 40)}`)))
  for await (const chunk of socket) {
    response += chunk
    if (/\r\n\r\n.*\}/s.test(response)) break
  }
  socket.destroy()
  return response
}

const errorOf = (response: string) => {
  const [head = '', body = ''] = response.split('\r\n\r\n')
  return {
    head: head.toLowerCase(),
    body: JSON.parse(body.slice(body.indexOf('{'), body.lastIndexOf('}') + 1)),
  }
}

t.test("Envoy's local replies have the error shape and a trace id", async (t) => {
  const auth = `svc-api-key: ${KEYS.private}\r\nsvc-proxy-url: ${h1.url()}\r\n`
  const cases: readonly (readonly [string, string, number, boolean])[] = [
    ['a broken request line', 'NONSENSE\r\n\r\n', 400, false],
    ['HTTP/1.0', 'GET /tokens HTTP/1.0\r\nhost: x\r\n\r\n', 426, false],
    ['no host', 'GET /tokens HTTP/1.1\r\n\r\n', 400, false],
    [
      'two lengths',
      `POST /proxy HTTP/1.1\r\nhost: x\r\n${auth}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
      true,
    ],
    [
      'a transfer coding besides chunked',
      `POST /proxy HTTP/1.1\r\nhost: x\r\n${auth}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
      400,
      true,
    ],
    ['no path', 'OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n', 404, false],
    ['headers too large', `GET /tokens HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(130_000)}\r\n\r\n`, 431, false],
    ['too many headers', `GET /proxy HTTP/1.1\r\nhost: x\r\n${'a: b\r\n'.repeat(120)}\r\n`, 431, true],
    [
      'an upgrade',
      `GET /proxy HTTP/1.1\r\nhost: x\r\n${auth}connection: upgrade\r\nupgrade: websocket\r\n\r\n`,
      400,
      true,
    ],
    ['CONNECT', `CONNECT dest.test:443 HTTP/1.1\r\nhost: dest.test:443\r\n${auth}\r\n`, 405, false],
    ['an unknown method', `FOO /proxy HTTP/1.1\r\nhost: x\r\n${auth}\r\n`, 405, true],
    ['QUERY', `QUERY /proxy HTTP/1.1\r\nhost: x\r\n${auth}\r\n`, 405, true],
    [
      'its own deadline',
      `POST /proxy HTTP/1.1\r\nhost: x\r\n${auth}grpc-timeout: 1n\r\ncontent-length: 9\r\n\r\n`,
      408,
      true,
    ],
    ['QUERY of the API', `QUERY /tokens HTTP/1.1\r\nhost: x\r\n${auth}\r\n`, 405, false],
    ['TRACE', `TRACE /proxy HTTP/1.1\r\nhost: x\r\n${auth}\r\n`, 405, true],
  ]
  h1.destination.received.length = 0
  h1.apiPaths.length = 0
  for (const [name, text, status, inProxy] of cases) {
    const { head, body } = errorOf(await raw(h1.port, text))
    t.match(head, new RegExp(`^http/1\\.1 ${status} `), name)
    t.match(head, /content-type: application\/json; charset=utf-8/, name)
    t.match(head, /svc-trace-id: \S+/, name)
    if (status === 405) t.match(head, /allow: get, post, put, patch, delete/, name)
    const problem = inProxy && body.proxy_error ? body.proxy_error : body
    t.match(problem, { type: `/docs/errors#${problem.code}`, status, title: String, detail: String }, name)
    t.equal(ERRORS[problem.code as ErrorCode]?.title, problem.title, name)
  }
  t.same(h1.destination.received, [])
  t.same(h1.apiPaths, [])
})

t.test('a request that never completes times out, and is not forwarded', async (t) => {
  const world = await startWorld({ bootstrap: { requestTimeoutMs: 300 } })
  t.teardown(() => world.close())
  const head = `POST /proxy HTTP/1.1\r\nhost: x\r\nsvc-api-key: ${KEYS.private}\r\nsvc-proxy-url: ${world.url()}\r\ncontent-length: 100\r\n\r\n`
  const { head: response, body } = errorOf(await raw(world.port, `${head}half`))
  t.match(response, /^http\/1\.1 408 /)
  t.equal(body.proxy_error.status, 408)
  const socket = connect(world.port, '127.0.0.1')
  await once(socket, 'connect')
  socket.end(`${head}half`)
  socket.resume()
  await once(socket, 'close')
  t.same(world.destination.received, [])
  t.equal((await world.post('/proxy', { method: 'GET', to: world.url() })).status, 200)
})

t.test('an API that does not respond is 504 in the bare error shape, with the trace id', async (t) => {
  const world = await startWorld({ bootstrap: { apiSocket: 'absent.sock' } })
  t.teardown(() => world.close())
  const response = await world.post('/tokens', { method: 'GET', headers: { 'svc-trace-id': 'mine' } })
  t.equal(response.status, 504)
  t.equal(response.json.status, 504)
  t.equal(response.json.proxy_error, undefined)
  t.equal(response.headers['content-type'], 'application/json; charset=utf-8')
  t.equal(response.headers['svc-trace-id'], 'mine')
})

t.test('a gRPC service that does not respond is UNAVAILABLE, with the problem as its message', async (t) => {
  const world = await startWorld({ bootstrap: { grpcSocket: 'absent.sock' } })
  t.teardown(() => world.close())
  const session = connectHttp2(`http://127.0.0.1:${world.port}`)
  t.teardown(() => session.close())
  const stream = session.request(
    {
      ':method': 'POST',
      ':path': '/sidevault.v1.Tokens/Get',
      'content-type': 'application/grpc',
      'svc-trace-id': 'mine',
      te: 'trailers',
    },
    { endStream: true },
  )
  const [headers] = await once(stream, 'response')
  t.equal(headers[':status'], 200)
  t.equal(headers['grpc-status'], '14')
  t.equal(headers['svc-trace-id'], 'mine')
  t.match(JSON.parse(decodeURIComponent(headers['grpc-message'])), {
    status: 504,
    code: 'gateway_timeout',
  })
})

t.test('one of two gateway processes is sufficient', async (t) => {
  const world = await startWorld({ bootstrap: { gatewaySockets: ['gateway.sock', 'gone.sock'] } })
  t.teardown(() => world.close())
  for (let index = 0; index < 20; index++)
    t.equal((await world.post('/proxy', { method: 'GET', to: world.url() })).status, 200)
})

t.test('the access log names no path, query, header or host', async (t) => {
  const world = await startWorld({ bootstrap: { accessLog: 'all' } })
  await world.post('/proxy/secret-path?secret-query=1', {
    to: world.url('/secret-base'),
    headers: { 'x-secret-header': 'secret-value', 'svc-trace-id': 'trace-1' },
    body: 'secret-body',
  })
  await world.post('/tokens/secret-id')
  await world.close()
  const lines = world.envoy.stderr()
  t.match(lines, /"trace_id":"trace-1"/)
  t.match(lines, /"route":"proxy_https"/)
  t.notMatch(lines, /secret|dest\.test/)
})

t.test('a failing destination is logged once with the trace id, other calls are not', async (t) => {
  const world = await startWorld()
  await world.post('/proxy', { to: world.url(), headers: { 'svc-trace-id': 'trace-fine' } })
  await world.post('/proxy', {
    to: 'https://secret-host.invalid/secret-path',
    headers: { 'svc-trace-id': 'trace-lost' },
  })
  await world.close()
  const lines = world.envoy
    .stderr()
    .split('\n')
    .filter((line) => line.startsWith('{'))
  t.equal(lines.length, 1)
  t.match(JSON.parse(lines[0]!), { trace_id: 'trace-lost', status: 502, flags: 'UH', route: 'proxy_https' })
  t.notMatch(lines[0], /secret/)
})
