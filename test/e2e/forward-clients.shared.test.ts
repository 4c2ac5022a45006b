/** Unmodified programs through the forward proxy of the whole service: the environment is all that they are given. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join, normalize } from 'node:path'
import t from 'tap'
import { unixHttp } from '../../src/common/unix-http.ts'
import { reportForwardHosts } from '../../src/control-plane/forward-hosts.ts'
import { socketsIn } from '../../src/supervisor/messages.ts'
import { directoryFor } from '../kit/directory.ts'
import { PROBES } from '../kit/forbidden-addresses.ts'
import { listenFor } from '../kit/listen.ts'
import { LONG } from '../kit/long.ts'
import { startOutside } from '../kit/outside.ts'
import { root } from '../kit/sources.ts'
import { pythonWith, run, toolEnvironment } from '../kit/tools.ts'
import { connect, overHttp1, secure } from '../kit/tunnel.ts'
import { until } from '../supervisor/processes.ts'

const PAN = '4000056655665556'
const HERE = join(root, 'test/e2e/forward-clients')
const directory = directoryFor(t)
const {
  sidevault,
  forward: proxy,
  forwardAuthority: ca,
  authority: destinations,
  nameLocally,
} = await startOutside()
const certificate = await nameLocally(
  'api.stripe.com',
  'git.test',
  'echo.test',
  'late.test',
  'hung.test',
  'free.test',
)
writeFileSync(join(directory, 'ca.pem'), ca.pem)

/** Bodies as they arrived, by path. */
const arrived: (readonly [path: string, body: string, authorization: string | undefined])[] = []
const destination = createServer(certificate, async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const path = request.url ?? ''
  arrived.push([path, Buffer.concat(chunks).toString(), request.headers.authorization])
  const json = (status: number, body: object) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  if (path.startsWith('/repository.git/')) {
    try {
      const file = normalize(path.replace(/\?.*/, '')).slice(1)
      response.end(readFileSync(join(directory, file)))
    } catch {
      response.writeHead(404).end()
    }
  } else if (path === '/v1/payment_methods') json(200, { id: 'pm_1', object: 'payment_method', type: 'card' })
  else if (path === '/v1/payment_intents')
    json(200, { id: 'pi_1', object: 'payment_intent', status: 'succeeded' })
  else if (path.startsWith('/v1/'))
    json(404, { error: { type: 'invalid_request_error', message: 'No such' } })
  else json(200, { ok: true })
})
const port = await listenFor(t, destination)
const management = sidevault.managementKey
const created = await sidevault.call('POST', '/applications', {
  key: management,
  body: { name: 'client', type: 'private', permissions: ['token:create', 'token:use'] },
})
const apiKey: string = created.json.key
const token: string = (
  await sidevault.call('POST', '/tokens', {
    key: apiKey,
    body: { type: 'card', data: { number: PAN, expiration_month: 12, expiration_year: 2031 } },
  })
).json.id
const bind = async (host: string, path = '') => {
  const body = { name: host, destination_url: `https://${host}:${port}${path}`, intercept: true }
  const { status, text } = await sidevault.call('POST', '/proxies', { key: management, body })
  if (status !== 201) throw new Error(text)
}
const tunnel = (host: string, as = apiKey) => connect({ proxy, to: `${host}:${port}`, key: as })
/** Resolves when a tunnel to the host opens. */
const bound = (host: string) =>
  until(`${host} is bound`, async () => {
    const { status, socket } = await tunnel(host)
    const opened = status === 200 && (await secure(socket, host, { ca: ca.pem }).catch(() => undefined))
    socket.destroy()
    return Boolean(opened)
  })
for (const host of ['api.stripe.com', 'git.test', 'echo.test']) await bind(host)
for (const host of ['api.stripe.com', 'git.test', 'echo.test']) await bound(host)

const proxyUrl = `http://x:${apiKey}@127.0.0.1:${proxy}`
const caFile = join(directory, 'ca.pem')
const env = {
  ...toolEnvironment(root),
  PATH: process.env.PATH,
  HOME: directory,
  HTTPS_PROXY: proxyUrl,
  https_proxy: proxyUrl,
  NODE_USE_ENV_PROXY: '1',
  NODE_EXTRA_CA_CERTS: caFile,
  SSL_CERT_FILE: caFile,
  CURL_CA_BUNDLE: caFile,
  REQUESTS_CA_BUNDLE: caFile,
  GIT_SSL_CAINFO: caFile,
  GIT_TERMINAL_PROMPT: '0',
  PYTHONDONTWRITEBYTECODE: '1',
}
const program = (file: string, args: readonly string[], more: object = {}) =>
  run(file, args, { env: { ...env, ...more }, cwd: directory, timeout: 300_000 })
const echo = `https://echo.test:${port}`
const last = () => arrived.at(-1)

for (const version of ['--http1.1', '--http2'])
  t.test(`curl ${version}`, async (t) => {
    const body = `{"client":"curl","pan":"{{ ${token} | json: '$.number' }}"}`
    const type = 'content-type: application/json'
    const { code, output } = await program('curl', ['-sS', version, '-H', type, '-d', body, `${echo}/curl`])
    t.equal(code, 0, output)
    t.same(last()?.slice(0, 2), ['/curl', `{"client":"curl","pan":"${PAN}"}`])
    const upload = await program('sh', [
      '-c',
      `printf '%s' '${body.replaceAll("'", `'\\''`)}' | curl -sS ${version} -H '${type}' -T - ${echo}/piped`,
    ])
    t.equal(upload.code, 0, upload.output)
    t.same(last()?.slice(0, 2), ['/piped', `{"client":"curl","pan":"${PAN}"}`])
  })

t.test('git clones over HTTPS', async (t) => {
  const source = join(directory, 'source')
  mkdirSync(source)
  writeFileSync(join(source, 'file'), 'content')
  const git = (...args: readonly string[]) =>
    program('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args])
  await git('-C', source, 'init', '-q')
  await git('-C', source, 'add', '.')
  await git('-C', source, 'commit', '-qm', 'first')
  await git('clone', '-q', '--bare', source, join(directory, 'repository.git'))
  await git('-C', join(directory, 'repository.git'), 'update-server-info')
  const { code, output } = await git('clone', '-q', `https://git.test:${port}/repository.git`, 'cloned')
  t.equal(code, 0, output)
  t.equal(readFileSync(join(directory, 'cloned/file'), 'utf8'), 'content')
})

t.test("Node's fetch", async (t) => {
  const { code, output } = await program(process.execPath, [join(HERE, 'fetch.mjs'), `${echo}/fetch`, token])
  t.equal(code, 0, output)
  t.match(output, /^200 /)
  t.same(last()?.slice(0, 2), ['/fetch', `{"client":"fetch","pan":"${PAN}"}`])
})

t.test("Python's requests and urllib", async (t) => {
  const client = await pythonWith('requests', ['requests==2.34.2'])
  if ('missing' in client) return t.pass(`NOT RUN: ${client.missing}`, { skip: client.missing })
  const before = arrived.length
  const args = [join(HERE, 'client.py'), `${echo}/python`, token]
  const { code, output } = await program(client.python, args, { PYTHONPATH: client.packages })
  t.equal(code, 0, output)
  t.same(
    arrived.slice(before).map(([, body]) => JSON.parse(body)),
    ['requests', 'urllib'].map((client) => ({ client, pan: PAN })),
  )
})

t.test("Go's net/http, over HTTP/2", async (t) => {
  if (!LONG)
    return t.pass('NOT RUN: compiled by npm run test:long', { skip: 'compiled by npm run test:long' })
  const version = await run('go', ['version'])
  if (version.code !== 0) return t.pass('NOT RUN: go is not there', { skip: 'go is not there' })
  const cache = join(root, '.cache/go-build')
  const go = { GOCACHE: cache, GOPATH: join(root, '.cache/go'), GOFLAGS: '-mod=mod', GOTOOLCHAIN: 'local' }
  // Without optimization: the compiler takes a third of the CPU for the standard library.
  const args = ['run', '-gcflags=all=-N -l', join(HERE, 'go/main.go'), `${echo}/go`, token]
  const { code, output } = await program('go', args, { ...go, CGO_ENABLED: '0' })
  t.equal(code, 0, output)
  t.match(output, /200 HTTP\/2\.0/)
  t.same(last()?.slice(0, 2), ['/go', `{"client":"go","pan":"${PAN}"}`])
})

t.test('the SDK of a payment provider', async (t) => {
  const before = arrived.length
  const args = [join(HERE, 'stripe.mjs'), 'api.stripe.com', String(port), token]
  const { code, output } = await program(process.execPath, args)
  t.equal(code, 0, output)
  t.match(JSON.parse(output), { method: 'pm_1', status: 'succeeded', rejected: 'StripeInvalidRequestError' })
  const [method] = arrived.slice(before)
  const sent = new URLSearchParams(method?.[1])
  t.equal(sent.get('card[number]'), PAN)
  t.equal(sent.get('card[exp_year]'), '2031')
  t.equal(method?.[2], 'Bearer sk_test_own')
})

t.test('clients show 407 and 403', async (t) => {
  const wrong = { HTTPS_PROXY: `http://x:wrong@127.0.0.1:${proxy}`, https_proxy: '' }
  t.match((await program('curl', ['-sS', echo], wrong)).output, /407/)
  t.match((await program('curl', ['-sS', 'https://elsewhere.test'])).output, /403/)
})

t.test('a new host is in force soon, and open tunnels stay', async (t) => {
  const { socket } = await tunnel('echo.test')
  const open = await secure(socket, 'echo.test', { ca: ca.pem })
  t.equal((await overHttp1(open, `echo.test:${port}`)).status, 200)
  await bind('late.test')
  await bound('late.test')
  t.equal((await overHttp1(open, `echo.test:${port}`)).status, 200)
  t.equal(open.destroyed, false)
  open.destroy()
})

t.test('a hung control plane stops no tunnel, and opens no host that Envoy does not have', async (t) => {
  const { socket } = await tunnel('echo.test')
  const open = await secure(socket, 'echo.test', { ca: ca.pem })
  const authority = `echo.test:${port}`
  const body = `{{ ${token} | json: '$.number' }}`
  process.kill(sidevault.pid, 'SIGSTOP')
  try {
    t.equal((await overHttp1(open, authority, { body, path: '/hung' })).status, 200)
    t.same(last()?.slice(0, 2), ['/hung', PAN])
    const other = await secure((await tunnel('echo.test')).socket, 'echo.test', { ca: ca.pem })
    t.equal((await overHttp1(other, authority, { body, path: '/other' })).status, 200)
    t.same(last()?.slice(0, 2), ['/other', PAN])
    other.destroy()
    const before = arrived.length
    await bind('hung.test')
    const { status, socket: unknown } = await tunnel('hung.test')
    t.equal(status, 200)
    await t.rejects(secure(unknown, 'hung.test', { ca: ca.pem }))
    t.equal(arrived.length, before)
  } finally {
    process.kill(sidevault.pid, 'SIGCONT')
  }
  await bound('hung.test')
  t.equal((await overHttp1(open, authority)).status, 200)
  open.destroy()
})

t.test('an unbound host passes unopened where the tenant says so, and never to this service', async (t) => {
  t.equal((await tunnel('free.test')).status, 403)
  const changed = await sidevault.call('PUT', '/tenants/self', {
    key: management,
    body: { name: 'tunnels', settings: { unbound_destinations: 'tunnel' } },
  })
  t.equal(changed.status, 200, changed.text)
  const { status, socket } = await tunnel('free.test')
  t.equal(status, 200)
  const unopened = await secure(socket, 'free.test', { ca: destinations.pem })
  const body = `{{ ${token} | json: '$.number' }}`
  t.equal((await overHttp1(unopened, `free.test:${port}`, { body, path: '/free' })).status, 200)
  t.same(last()?.slice(0, 2), ['/free', body], 'nothing is replaced')
  unopened.destroy()
  const to = (authority: string) => connect({ proxy, to: authority, key: apiKey })
  for (const own of [sidevault.port, proxy])
    for (const host of ['127.0.0.1', 'free.test', '[::ffff:127.0.0.1]', '0.0.0.0'])
      t.equal((await to(`${host}:${own}`)).status, 403, `${host}:${own}`)
  for (const host of PROBES) t.equal((await to(`${host}:443`)).status, 403, host)
})

t.test('a handshake that fails is a line of the log and a metric', async (t) => {
  const metric = async () => {
    const { text } = await sidevault.call('GET', '/metrics', { key: management })
    return Number(
      /sidevault_envoy_tunnel_handshakes_failed_total\{reason="server_name"\} (\d+)/.exec(text)?.[1],
    )
  }
  const before = await metric()
  const { socket } = await tunnel('echo.test')
  await t.rejects(secure(socket, 'echo.test', { ca: ca.pem, serverName: 'unknown.test' }))
  t.equal(await metric(), before + 1)
})

t.test('a new certificate of a host cuts no tunnel', async (t) => {
  const control = join(sidevault.dataDir, socketsIn('run', 1).control)
  const put = (body: object) => unixHttp(control, 'PUT', '/forward-hosts', { body, timeoutMs: 20_000 })
  const leaf = async (host: string) => {
    const issued = await ca.issue([host])
    return { host, certificate: issued.cert, key: issued.key }
  }
  const names = ['api.stripe.com', 'git.test', 'echo.test', 'late.test', 'hung.test']
  const open = await secure((await tunnel('echo.test')).socket, 'echo.test', { ca: ca.pem })
  const other = await secure((await tunnel('git.test')).socket, 'git.test', { ca: ca.pem })
  const hosts = await Promise.all(names.map(leaf))
  t.equal((await put(reportForwardHosts(hosts))).status, 200)
  for (const wrong of [{}, { chains: [], hosts: [{}] }, reportForwardHosts([{ ...hosts[0]!, host: 'a b' }])])
    t.equal((await put(wrong)).status, 409)
  const fresh = await secure((await tunnel('echo.test')).socket, 'echo.test', { ca: ca.pem })
  t.not(fresh.getPeerCertificate().fingerprint256, open.getPeerCertificate().fingerprint256)
  for (const socket of [open, fresh]) t.equal((await overHttp1(socket, `echo.test:${port}`)).status, 200)
  t.equal((await overHttp1(other, `git.test:${port}`)).status, 200)
  t.equal((await put(reportForwardHosts(hosts.filter(({ host }) => host !== 'late.test')))).status, 200)
  await t.rejects(secure((await tunnel('late.test')).socket, 'late.test', { ca: ca.pem }))
  for (const socket of [open, fresh, other]) {
    t.equal(socket.destroyed, false)
    socket.destroy()
  }
})

t.test('a key that is deleted opens nothing more, in open tunnels too', async (t) => {
  const other = await sidevault.call('POST', '/applications', {
    key: management,
    body: { name: 'short', type: 'private', permissions: ['token:use'] },
  })
  const { socket } = await tunnel('echo.test', other.json.key)
  const open = await secure(socket, 'echo.test', { ca: ca.pem })
  t.equal((await overHttp1(open, `echo.test:${port}`)).status, 200)
  await sidevault.call('DELETE', `/applications/${other.json.id}`, { key: management })
  t.equal((await overHttp1(open, `echo.test:${port}`)).status, 401)
  t.equal((await tunnel('echo.test', other.json.key)).status, 407)
  open.destroy()
})

t.test(
  'a failed handshake is in the log with the trace id of its CONNECT; values and keys are not',
  async (t) => {
    const line = /"flags":"NR"[^\n]*"route":"forward_tls"[^\n]*"trace_id":"[0-9a-f]{32}"/
    // Envoy writes its log when its buffer is full, and every ten seconds.
    await until('it is logged', () => line.test(sidevault.stdout() + sidevault.stderr()))
    const text = sidevault.stderr() + sidevault.stdout().replaceAll(management, '')
    for (const secret of [PAN, apiKey, Buffer.from(`x:${apiKey}`).toString('base64')])
      t.notOk(text.includes(secret))
    t.match(text, /"operation":"connect"/)
  },
)
