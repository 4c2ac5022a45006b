/** The recipes of docs/guides/mesh.md: a second Envoy, which is not ours, beside the whole program. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import t from 'tap'
import { createAuthority } from '../kit/authority.ts'
import { startDestination } from '../kit/destination.ts'
import { directoryFor } from '../kit/directory.ts'
import { startLocalNetwork } from '../kit/local-network.ts'
import { SIDEVAULT, sendBytes, startForeignEnvoy, startMeshEnvoy } from '../kit/mesh.ts'
import { freePort, type Response, startSidevault } from '../kit/sidevault.ts'
import { connect, overHttp1, secure } from '../kit/tunnel.ts'
import { descendants, isAlive, until } from '../supervisor/processes.ts'

const HOST = 'api.example.com'
const PAN = '4242424242424242'

const directory = directoryFor(t)
const { dns, certificate, env } = await startLocalNetwork(t, [HOST])
const destination = await startDestination(certificate)
t.teardown(() => destination.close())

const edge = await createAuthority('Edge')
const { cert, key: privateKey } = await edge.issue([SIDEVAULT, 'localhost'])
setDefaultCACertificates([...getCACertificates(), edge.pem])
const tls = {
  SIDEVAULT_TLS_CERT: join(directory, 'edge.pem'),
  SIDEVAULT_TLS_KEY: join(directory, 'edge.key'),
}
writeFileSync(tls.SIDEVAULT_TLS_CERT, cert)
writeFileSync(tls.SIDEVAULT_TLS_KEY, privateKey)
const forward = await freePort()
const sidevault = await startSidevault({
  env: { ...env, ...tls, SIDEVAULT_FORWARD_LISTEN: `127.0.0.1:${forward}` },
})
const children = descendants(sidevault.pid).map(({ pid }) => pid)
let runs = true
const killSidevault = async () => {
  if (!runs) return
  runs = false
  await sidevault.kill()
  await until('every process of it is gone', () => !children.some(isAlive))
}
t.teardown(killSidevault)

const management = sidevault.managementKey
// More than it should have: a client that left /proxy would get values by it.
const read = {
  permissions: ['token:read'],
  transform: 'reveal',
  container: '/',
  description: 'all',
  priority: 1,
}
const key = await sidevault.application({ permissions: ['token:create', 'token:use'], rules: [read] })
const forged = await sidevault.application({ permissions: ['token:create', 'token:use'] })
const base = `https://${HOST}:${destination.port}`
const store = async (url: string, more: object = {}): Promise<string> => {
  const body = { name: 'mesh', destination_url: url, ...more }
  const { status, text, json } = await sidevault.call('POST', '/proxies', { key: management, body })
  if (status !== 201) throw new Error(text)
  return json.key
}
const proxyKey = await store(`${base}/v1`, { intercept: true })
const other = await store(`${base}/other`)
const created = await sidevault.call('POST', '/tokens', {
  key,
  body: { type: 'card', data: { number: PAN, expiration_month: 12, expiration_year: 2031 } },
})
const expression = `{{ ${created.json.id} | json: '$.number' }}`
const body = { card: expression }
const ARRIVED = `{"card":"${PAN}"}`

const theirs = await startMeshEnvoy(t, 'by-route.yaml', {
  sidevault: sidevault.port,
  authority: edge.pem,
  env: { SIDEVAULT_KEY: key, PROXY_KEY: proxyKey },
})
const tunnels = await startMeshEnvoy(t, 'as-https-proxy.yaml', { sidevault: forward, authority: edge.pem })

/** Text of the newest request at the destination. */
const arrived = () => destination.last().body?.toString()

type Lines = readonly string[]

/** A request to their Envoy as these bytes; the whole response. */
const send = (
  start: string,
  lines: Lines = [],
  { content = JSON.stringify(body), port = theirs.port }: { content?: string; port?: number } = {},
): Promise<string> => {
  const framing = lines.some((line) => /^(content-length|transfer-encoding):/i.test(line))
    ? []
    : [`content-length: ${content.length}`]
  const head = [`host: ${HOST}`, 'connection: close', 'content-type: application/json', ...framing, ...lines]
  return sendBytes(port, `${start} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n${content}`)
}
const statusOf = (response: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(response)?.[1] ?? 0)

/** Sends a request to their Envoy over HTTP/2; 0 when it is reset. */
const send2 = async (
  headers: Readonly<Record<string, string>>,
  { content = JSON.stringify(body), trailers }: { content?: string; trailers?: Record<string, string> } = {},
): Promise<Pick<Response, 'status' | 'text'>> => {
  const session = connectHttp2(`http://127.0.0.1:${theirs.port}`)
  session.on('error', () => {})
  const sent = {
    ':method': 'POST',
    ':authority': HOST,
    ':path': '/',
    'content-type': 'application/json',
    ...headers,
  }
  let [status, text] = [0, '']
  try {
    const stream = session.request(sent, { waitForTrailers: trailers !== undefined })
    stream.on('error', () => {})
    stream.on('wantTrailers', () => stream.sendTrailers(trailers ?? {}))
    stream.on('response', (head) => {
      status = Number(head[':status'])
    })
    stream.on('data', (chunk) => {
      text += chunk
    })
    stream.end(content)
    await once(stream, 'close')
  } finally {
    session.destroy()
  }
  return { status, text }
}

t.test('by route: a host reaches a stored proxy, with values, over HTTP/1.1 and HTTP/2', async (t) => {
  for (const [sent, path] of [
    ['/charges?a=1', '/v1/charges?a=1'],
    ['/', '/v1'],
    ['/?', '/v1?'],
    ['//a//b', '/v1//a//b'],
  ] as const) {
    for (const respond of [
      async () => statusOf(await send(`POST ${sent}`)),
      async () => (await send2({ ':path': sent })).status,
    ]) {
      t.equal(await respond(), 200, sent)
      t.equal(destination.last().path, path)
      t.equal(arrived(), ARRIVED)
    }
  }
  const chunked = `300000\r\n${'x'.repeat(3 << 20)}\r\n0\r\n\r\n`
  t.equal(statusOf(await send('POST /large', ['transfer-encoding: chunked'], { content: chunked })), 200)
  t.equal(arrived()?.length, 3 << 20)
  t.ok((await theirs.stat('cluster.sidevault.upstream_cx_http2_total')) > 0)
})

const FORGED: Lines = [
  `svc-api-key: ${forged}`,
  `SVC-API-KEY: ${forged}`,
  `svc-proxy-key: ${other}`,
  `Svc-Proxy-Key: ${other}`,
  `svc-proxy-url: ${base}/other`,
  'svc-proxy-evaluate: path',
  'svc-proxy-dry-run: true',
  'svc-proxy-stream: true',
  'svc-trace-id: forged',
  'svc-future: 1',
  'x-sidevault-cluster: api',
  'x-sidevault-connection: svc-api-key',
  'x-sidevault-forwarded-proto: ftp',
  'x-sidevault-client-address: 192.0.2.1',
  'x-forwarded-for: 10.0.0.1',
  'x-forwarded-host: forged.test',
  'x-forwarded-proto: https',
  'x-envoy-original-path: /detokenize',
  'x-envoy-upstream-rq-timeout-ms: 1',
  'connection: svc-api-key, svc-proxy-key',
]

t.test('by route: no header of a client replaces or removes those that are added', async (t) => {
  /** Nothing is of their Envoy. */
  const expected = ['content-length', 'content-type', 'host', 'svc-trace-id']
  for (const line of FORGED)
    for (const lines of [[line], [line, line]]) {
      t.equal(statusOf(await send('POST /charges', lines)), 200, line)
      t.equal(destination.last().path, '/v1/charges', line)
      t.equal(arrived(), ARRIVED, line)
      t.strictSame(Object.keys(destination.last().headers).sort(), expected, line)
      t.not(destination.last().headers['svc-trace-id'], 'forged')
    }
  const count = destination.received.length
  for (const line of [`svc_api_key: ${forged}`, `svc_proxy_key: ${other}`, `SVC_PROXY-KEY: ${other}`])
    t.equal(statusOf(await send('POST /charges', [line])), 400, line)
  t.equal(statusOf(await send(`POST /charges?svc-proxy-key=${other}`)), 400, 'a second proxy key')
  t.equal(destination.received.length, count)
  for (const name of ['svc-api-key', 'svc-proxy-key', 'svc-proxy-url']) {
    const { status } = await send2({ ':path': '/charges', [name]: other }, { trailers: { [name]: other } })
    t.equal(status, 200)
    t.equal(destination.last().path, '/v1/charges')
    t.strictSame(Object.keys(destination.last().headers).sort(), expected)
  }
})

t.test('by route: a response that a client would have repeated is not', async (t) => {
  const { port } = await startMeshEnvoy(t, 'by-route.yaml', {
    sidevault: sidevault.port,
    authority: edge.pem,
    env: { SIDEVAULT_KEY: key, PROXY_KEY: await store(base) },
  })
  // With a private address the request counts as internal, and Envoy does what these headers say.
  const lines = ['x-forwarded-for: 10.0.0.1', 'x-envoy-retry-on: 5xx', 'x-envoy-max-retries: 3']
  const count = destination.received.length
  t.equal(statusOf(await send('POST /status/503', lines, { port })), 503)
  t.equal(destination.received.length, count + 1)
})

/** Request targets that lead out of `/proxy` where somebody reads them in another way. */
const TARGETS: readonly string[] = [
  '/../detokenize',
  '/%2e%2e/detokenize',
  '/.%2e/detokenize',
  '/..%2fdetokenize',
  '/..%2Fdetokenize',
  '/%2e%2e%2fdetokenize',
  '/%252e%252e/detokenize',
  '/%252e%252e%252fdetokenize',
  '/..%5cdetokenize',
  '/..\\detokenize',
  '/..;/detokenize',
  '/..;a=b/detokenize',
  '/./../detokenize',
  '//../detokenize',
  '/a/../../detokenize',
  '/a//../../detokenize',
  '/../../../detokenize',
  '/../proxy/../detokenize',
  '/..%00/detokenize',
  '/..%09/detokenize',
  '/%2e%2e?/detokenize',
  '/..',
  '/..#/detokenize',
  'detokenize',
  '../detokenize',
  '*',
  '',
  `http://${HOST}/../detokenize`,
  `http://${HOST}/%2e%2e/detokenize`,
  `http://${SIDEVAULT}/detokenize`,
  `https://${SIDEVAULT}:8080/detokenize`,
  '/../console/api/detokenize',
  '/../sidevault.v1.Tokens/Detokenize',
]

t.test('by route: no client reaches another route than /proxy', async (t) => {
  /** Calls of the API that were not made with the management key. */
  const escaped = async () => {
    const list = await sidevault.call('GET', '/requests?kind=api&size=1000', { key: management })
    return (list.json.data as { route: string; application?: { name: string } }[]).filter(
      ({ application }) => application?.name === 'test',
    ).length
  }
  const detokenize = { key, body: { pan: expression } }
  const before = await escaped()
  t.match((await sidevault.call('POST', '/detokenize', detokenize)).text, PAN, 'what is behind the route')
  await until('the call is listed', async () => (await escaped()) === before + 1)

  const since = destination.received.length
  const content = JSON.stringify(detokenize.body)
  // A rejected one keeps its connection for a second: they are sent at once.
  const attempts = TARGETS.flatMap((target) => [
    ...[[], ['content-type: application/grpc'], ['x-original-url: /detokenize']].map(async (lines) => {
      const response = await send(`POST ${target}`, lines, { content })
      t.not(statusOf(response), 0, target)
      t.notMatch(response, PAN, target)
    }),
    ...[{}, { 'content-type': 'application/grpc' }, { ':scheme': 'file' }, { ':authority': SIDEVAULT }].map(
      async (more) => t.notMatch((await send2({ ':path': target, ...more }, { content })).text, PAN, target),
    ),
  ])
  await Promise.all(attempts)

  for (const start of [`CONNECT ${SIDEVAULT}:8080`, `CONNECT ${HOST}:443`, 'OPTIONS *', 'PRI *'])
    t.match(String(statusOf(await send(start, [], { content: '' }))), /^[045]/, start)
  for (const protocol of ['websocket', 'h2c', 'TLS/1.3']) {
    const upgrade = [`upgrade: ${protocol}`, 'connection: upgrade', 'http2-settings: AAMAAABk']
    t.not(statusOf(await send('GET /', upgrade, { content: '' })), 101, protocol)
  }

  const head = `host: ${HOST}\r\ncontent-type: application/json\r\n`
  const hidden = `POST /detokenize HTTP/1.1\r\n${head}content-length: ${content.length}\r\n\r\n${content}`
  const last = `GET /last HTTP/1.1\r\n${head}connection: close\r\n\r\n`
  const heads = [
    'content-length: 4\r\ntransfer-encoding: chunked',
    'transfer-encoding: chunked\r\ncontent-length: 4',
    'content-length: 0\r\ncontent-length: 9',
    'content-length: +0',
    'content-length: 0\r\n transfer-encoding: chunked',
    'transfer-encoding: xchunked',
    'transfer-encoding: chunked, identity',
    'transfer-encoding : chunked',
    'transfer-encoding:\x0bchunked',
    'content-length: 0\r\nx: 1\nsvc-proxy-url: x',
    'content-length: 0\r\nx: 1\rtransfer-encoding: chunked',
    'content-length: 0\r\nx: 1\0',
  ]
  const smuggled = heads.map(async (lines) => {
    const bytes = `POST / HTTP/1.1\r\n${head}${lines}\r\n\r\n0\r\n\r\n${hidden}${last}`
    t.notMatch(await sendBytes(theirs.port, bytes, 'close'), PAN, lines)
  })
  await Promise.all(smuggled)
  t.equal(await escaped(), before + 1)
  for (const { path } of destination.received.slice(since)) t.match(path, /^\/v1(?:[/?]|$)/)
})

/** What a hop that resolves dot segments, and takes escaped slashes for slashes, makes of a request target. */
const normalized = (path: string) => new URL(`http://hop${path.replaceAll(/%2f|%5c/gi, '/')}`).pathname

t.test('by route: a hop behind their Envoy that normalizes paths leads nowhere else either', async (t) => {
  const hop = await startDestination({ cert, key: privateKey }, { protocol: 'h2' })
  t.teardown(() => hop.close())
  const { port } = await startMeshEnvoy(t, 'by-route.yaml', {
    sidevault: hop.port,
    authority: edge.pem,
    env: { SIDEVAULT_KEY: key, PROXY_KEY: proxyKey },
  })
  await Promise.all(TARGETS.map((target) => send(`POST ${target}`, FORGED.slice(0, 4), { port })))
  t.ok(hop.received.length > 5)
  for (const { path, headers } of hop.received) {
    t.match(normalized(path), /^\/proxy\//, path)
    t.equal(headers['svc-api-key'], key)
    t.equal(headers['svc-proxy-key'], proxyKey)
  }
})

const throughTunnel = async (to = HOST, headers: Record<string, string> = {}) => {
  const { status, socket } = await connect({ proxy: tunnels.port, to: `${to}:${destination.port}`, key })
  if (status !== 200) return { status, socket }
  const { text: ca } = await sidevault.call('GET', '/ca.pem')
  const secured = await secure(socket, to, { ca })
  const options = { path: '/v1/charges', body: JSON.stringify(body), headers }
  const response = await overHttp1(secured, `${to}:${destination.port}`, options)
  secured.destroy()
  return { status: response.status, socket }
}

t.test('as HTTPS_PROXY: CONNECT passes their Envoy, and values arrive', async (t) => {
  t.equal((await throughTunnel()).status, 200)
  t.equal(destination.last().path, '/v1/charges')
  t.equal(arrived(), ARRIVED)
  const headers = { 'svc-proxy-key': other, 'svc-api-key': forged, 'content-type': 'application/json' }
  t.equal((await throughTunnel(HOST, headers)).status, 200)
  t.equal(destination.last().path, '/v1/charges')
  t.equal(arrived(), ARRIVED)
  t.notOk(destination.last().rawHeaders.some((text) => text === other || text === forged))
})

t.test('as HTTPS_PROXY: without a key, to another host and to Sidevault itself nothing opens', async (t) => {
  const count = destination.received.length
  const keyless = await connect({ proxy: tunnels.port, to: `${HOST}:${destination.port}`, key: null })
  t.equal(keyless.status, 407)
  t.equal((await throughTunnel('other.example.com')).status, 403)
  for (const port of [sidevault.port, forward])
    t.equal((await connect({ proxy: tunnels.port, to: `${SIDEVAULT}:${port}`, key })).status, 403)
  t.equal(destination.received.length, count)
})

/** An Envoy in the way of Sidevault's connections to destinations, as a mesh that intercepts them. */
const interceptor = async (opens?: object) => {
  const place = directoryFor(t)
  const port = await freePort()
  const type = 'type.googleapis.com/envoy.extensions'
  const cluster = {
    name: 'far',
    load_assignment: {
      cluster_name: 'far',
      endpoints: [
        {
          lb_endpoints: [
            {
              endpoint: {
                address: { socket_address: { address: '127.0.0.1', port_value: destination.port } },
              },
            },
          ],
        },
      ],
    },
    ...(opens && {
      transport_socket: {
        name: 'tls',
        typed_config: { '@type': `${type}.transport_sockets.tls.v3.UpstreamTlsContext`, sni: HOST },
      },
    }),
  }
  const chain = {
    filters: [
      {
        name: 'tcp_proxy',
        typed_config: {
          '@type': `${type}.filters.network.tcp_proxy.v3.TcpProxy`,
          stat_prefix: 'intercepted',
          cluster: 'far',
        },
      },
    ],
    ...(opens && {
      transport_socket: {
        name: 'tls',
        typed_config: {
          '@type': `${type}.transport_sockets.tls.v3.DownstreamTlsContext`,
          common_tls_context: { tls_certificates: [opens] },
        },
      },
    }),
  }
  const listeners = [
    { address: { socket_address: { address: '127.0.0.1', port_value: port } }, filter_chains: [chain] },
  ]
  const resources = { static_resources: { listeners, clusters: [cluster] } }
  return startForeignEnvoy(t, resources, { directory: place, port })
}

const callThrough = async (host: string, port: number) => {
  const headers = { 'svc-proxy-key': await store(`https://${host}:${port}`) }
  return sidevault.call('POST', '/proxy', { key, body, headers })
}

t.test(
  'side by side: an interceptor that passes TLS carries calls, one that opens it gets none',
  async (t) => {
    const passing = await interceptor()
    t.equal((await callThrough(HOST, passing.port)).status, 200)
    t.equal(arrived(), ARRIVED)
    const mesh = await createAuthority('Mesh')
    const issued = await mesh.issue([HOST])
    const opening = await interceptor({
      certificate_chain: { inline_string: issued.cert },
      private_key: { inline_string: issued.key },
    })
    const count = destination.received.length
    const response = await callThrough(HOST, opening.port)
    t.equal(response.status, 502)
    t.match(response.json, { proxy_error: { code: 'destination_unreachable' } })
    await passing.stop()
    t.equal((await callThrough(HOST, passing.port)).status, 502)
    t.equal(destination.received.length, count)
  },
)

t.test("side by side: an address that a mesh's DNS makes up is denied", async (t) => {
  dns.set('captured.example.com', { a: ['240.240.0.1'], ttl: 60 })
  const response = await callThrough('captured.example.com', 443)
  t.equal(response.status, 403)
  t.match(response.json, { proxy_error: { code: 'destination_not_allowed' } })
})

t.test('a Sidevault with another certificate gets no request of their Envoy', async (t) => {
  const wrong = await createAuthority('Another')
  const { port } = await startMeshEnvoy(t, 'by-route.yaml', {
    sidevault: sidevault.port,
    authority: wrong.pem,
    env: { SIDEVAULT_KEY: key, PROXY_KEY: proxyKey },
  })
  const count = destination.received.length
  t.equal(statusOf(await send('POST /charges', [], { port })), 503)
  t.equal(destination.received.length, count)
})

t.test('with Sidevault down, their Envoys send nothing to the destination', async (t) => {
  t.equal(statusOf(await send('POST /charges')), 200)
  await killSidevault()
  const count = destination.received.length
  t.equal(statusOf(await send('POST /charges')), 503)
  t.equal((await send2({ ':path': '/charges' })).status, 503)
  const opening = `CONNECT ${HOST}:${destination.port} HTTP/1.1\r\nhost: ${HOST}\r\n\r\n`
  t.equal(await sendBytes(tunnels.port, opening), '', 'a connection without HTTP has no 503: it is closed')
  t.equal(destination.received.length, count)
  t.ok((await theirs.stat('cluster.sidevault.upstream_cx_connect_fail')) > 0)
})
