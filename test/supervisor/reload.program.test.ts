/** Settings change under steady traffic: nothing fails, and what was changed is in force. */
import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from 'node:tls'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { createAuthority } from '../kit/authority.ts'
import { startDestination } from '../kit/destination.ts'
import { startDns } from '../kit/dns.ts'
import { freePort } from '../kit/sidevault.ts'
import { descendants, until } from './processes.ts'
import { start } from './start.ts'

/** ms between two calls of a client: the changes are to be met, not the machine's limits. */
const PAUSE = 20
const MANAGEMENT_KEY = 'key_6vZtXqW9sLr2YpN4mHd8cKf1RbJg7TuE'
const script = fileURLToPath(new URL('../../bin/sidevault.js', import.meta.url))

const directory = mkdtempSync(join(tmpdir(), 'sidevault-reload-'))
const path = (name: string) => join(directory, name)
const [edge, first, second] = await Promise.all([
  createAuthority('edge'),
  createAuthority('first'),
  createAuthority('second'),
])
const writeCertificate = async () => {
  const { cert, key } = await edge.issue(['127.0.0.1'])
  writeFileSync(path('cert.pem'), cert)
  writeFileSync(path('key.pem'), key)
  chmodSync(path('key.pem'), 0o644)
  return cert
}
const dns = await startDns()
const [destination, other] = await Promise.all([
  startDestination(await first.issue(['one.test'])),
  startDestination(await second.issue(['other.test'])),
])
for (const name of ['one.test', 'other.test']) dns.set(name, { a: ['127.0.0.1'] })

let file: Record<string, unknown> = {
  tls_cert: path('cert.pem'),
  tls_key: path('key.pem'),
  egress_allow: ['127.0.0.1/32'],
  egress_ports: ['*'],
  egress_dns: [`127.0.0.1:${dns.port}`],
  egress_ca: path('ca.pem'),
}
const configure = (changes: Record<string, unknown>) => {
  file = { ...file, ...changes }
  writeFileSync(path('sidevault.json'), JSON.stringify(file))
}
configure({})
writeFileSync(path('ca.pem'), first.pem)
await writeCertificate()

const port = await freePort()
const apiPort = await freePort()
const env = {
  SIDEVAULT_CONFIG: path('sidevault.json'),
  SIDEVAULT_BOOTSTRAP_KEY: MANAGEMENT_KEY,
  SIDEVAULT_API_LISTEN: `127.0.0.1:${apiPort}`,
}
const service = await start(path('data'), { port, env, detached: true })
t.teardown(async () => {
  await service.stop()
  await Promise.all([destination.close(), other.close(), dns.close()])
  rmSync(directory, { recursive: true, force: true })
})

const keepAlive = new Agent({ keepAlive: true, rejectUnauthorized: false })
t.teardown(() => keepAlive.destroy())
const call = (method: string, url: string, headers: Record<string, string>, body?: string) =>
  new Promise<{ status: number; text: string }>((resolve, reject) => {
    request({ host: '127.0.0.1', port, method, path: url, headers, agent: keepAlive }, async (response) => {
      let text = ''
      for await (const chunk of response.setEncoding('utf8')) text += chunk
      resolve({ status: response.statusCode ?? 0, text })
    })
      .on('error', reject)
      .end(body)
  })
const make = async (what: string, body: object): Promise<string> => {
  const headers = { 'svc-api-key': MANAGEMENT_KEY, 'content-type': 'application/json' }
  return JSON.parse((await call('POST', what, headers, JSON.stringify(body))).text).key
}
const key = await make('/applications', { name: 'test', type: 'private', permissions: ['token:use'] })
const proxy = (destination: { port: number }, name: string, body = 'x') =>
  call('POST', '/proxy', { 'svc-api-key': key, 'svc-proxy-url': `https://${name}:${destination.port}` }, body)
const certified = await make('/proxies', {
  name: 'certified',
  destination_url: `https://one.test:${destination.port}`,
  destination_tls: { ca: first.pem },
})
const throughCertified = () => call('POST', '/proxy', { 'svc-api-key': key, 'svc-proxy-key': certified }, 'x')

/** The certificate that new connections are shown. */
const shown = (port: number) =>
  new Promise<string>((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().raw.toString('base64'))
      socket.destroy()
    }).on('error', reject)
  })
/** At the edge, and by the admin process itself. */
const isShown = async (cert: string) => {
  const text = cert.replaceAll('\n', '')
  return text.includes(await shown(port)) && text.includes(await shown(apiPort))
}

const reload = () =>
  new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    const options = { env: { PATH: process.env.PATH, SIDEVAULT_DATA_DIR: path('data'), ...env } }
    execFile(process.execPath, [script, 'reload'], options, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    )
  })

t.test('no call fails while settings change, and each change is applied', async (t) => {
  t.equal((await proxy(destination, 'one.test')).status, 200)
  t.equal((await proxy(other, 'other.test')).status, 502, 'its authority is not trusted yet')
  const failures: string[] = []
  let calls = 0
  let running = true
  const client = async (send: () => ReturnType<typeof call>) => {
    while (running) {
      const { status, text } = await send().catch((error) => ({ status: 0, text: String(error) }))
      calls++
      if (status !== 200) failures.push(`${status} ${text}`)
      await delay(PAUSE)
    }
  }
  const plain = () => proxy(destination, 'one.test')
  const traffic = Promise.all([plain, plain, throughCertified, throughCertified].map(client))

  writeFileSync(path('ca.pem'), `${first.pem}${second.pem}`)
  const cert = await writeCertificate()
  configure({ proxy_body_limit: 2048, access_log: 'all', egress_http: true, workers: 3 })
  const { code, stdout, stderr } = await reload()
  t.equal(code, 0, stderr)
  t.match(stdout, /applied +SIDEVAULT_PROXY_BODY_LIMIT/)
  t.match(stdout, /applied +SIDEVAULT_ACCESS_LOG/)
  t.match(stdout, /needs a restart +SIDEVAULT_WORKERS/)
  t.ok(await isShown(cert), 'the new certificate is shown')
  t.equal((await proxy(other, 'other.test')).status, 200, 'the new authority is trusted')
  t.equal((await proxy(destination, 'one.test', 'x'.repeat(2048))).status, 200)
  t.equal((await proxy(destination, 'one.test', 'x'.repeat(2049))).status, 413)

  configure({ egress_allow: ['nonsense'], destination_timeout_seconds: 0 })
  const rejected = await reload()
  t.equal(rejected.code, 2)
  t.match(rejected.stderr, /SIDEVAULT_EGRESS_ALLOW.*nonsense/)
  t.match(rejected.stderr, /SIDEVAULT_DESTINATION_TIMEOUT_SECONDS/)
  configure({ egress_allow: ['127.0.0.1/32'], destination_timeout_seconds: 20 })

  writeFileSync(path('ca.pem'), 'no certificate')
  const damaged = await reload()
  t.equal(damaged.code, 2)
  t.match(damaged.stderr, /Nothing was changed.*\n.*SIDEVAULT_EGRESS_CA.*holds no PEM certificate/)
  const withDamaged = await writeCertificate()
  await until('a damaged authority does not stop a renewed certificate', () => isShown(withDamaged))
  writeFileSync(path('ca.pem'), second.pem + first.pem)

  const renewed = await writeCertificate()
  await until('certificates are watched', () => isShown(renewed))

  for (let times = 0; times < 2; times++)
    for (const pem of [first.pem, `${first.pem}${second.pem}`]) {
      writeFileSync(path('ca.pem'), pem)
      const again = await reload()
      t.equal(again.code, 0, again.stderr)
    }

  const metrics = (await call('GET', '/metrics', {})).text
  t.match(metrics, /sidevault_envoy_config_acked\{kind="routes"\} 1/)
  t.match(metrics, /sidevault_envoy_config_nacks_total\{kind="clusters"\} 0/)
  t.match((await call('GET', '/readyz', {})).text, /"name":"envoy_config","status":"ok"/)

  running = false
  await traffic
  // Why only Envoy knows: its flags and details.
  const reasons = service.output.stderr.split('\n').filter((line) => line.includes('failed call'))
  t.same(failures, [], { reasons: failures.length === 0 ? [] : reasons })
  t.ok(calls > 20, `${calls} calls`)
})

t.test('a key of the edge that all users can read is a warning at the start', async (t) => {
  t.match(
    service.output.stderr,
    /"level":"warn".*key\.pem.* is open to all users \(mode 644\)\. Run: chmod 600/,
  )
})

t.test('SIGHUP with an invalid file changes nothing, which is an error in the log', async (t) => {
  configure({ egress_allow: ['nonsense'] })
  service.child.kill('SIGHUP')
  const logged = () => service.output.stderr.split('\n').find((line) => line.includes('were not reloaded'))
  await until('it is logged', () => logged() !== undefined)
  t.match(JSON.parse(logged() ?? ''), {
    level: 'error',
    process: 'supervisor',
    msg: /^settings were not reloaded: .*SIDEVAULT_EGRESS_ALLOW/s,
  })
  configure({ egress_allow: ['127.0.0.1/32'] })
  t.equal((await reload()).code, 0)
})

t.test('a removed range is denied, also after a restart of the gateway', async (t) => {
  configure({ egress_allow: [] })
  service.child.kill('SIGHUP') // without a terminal: a reload
  await until('the range is denied', async () => (await proxy(destination, 'one.test')).status === 403)
  const gateway = descendants(service.child.pid ?? 0).find(({ command }) =>
    /^sidevault: gateway/.test(command),
  )
  process.kill(gateway?.pid ?? 0, 'SIGKILL')
  // What files hold by then was not accepted.
  configure({ egress_allow: ['nonsense'] })
  writeFileSync(path('ca.pem'), 'no certificate')
  rmSync(path('key.pem'))
  await until('the gateway is back', async () => (await proxy(destination, 'one.test')).status !== 504)
  t.equal((await proxy(destination, 'one.test')).status, 403)
  configure({ egress_allow: ['127.0.0.1/32'] })
  writeFileSync(path('ca.pem'), first.pem)
  await writeCertificate()
  t.equal((await reload()).code, 0)
  t.equal((await proxy(destination, 'one.test')).status, 200)
  const envoy = descendants(service.child.pid ?? 0).find(({ command }) => /envoy\.json/.test(command))
  process.kill(envoy?.pid ?? 0, 'SIGKILL')
  await until('Envoy is back with what it had', async () => {
    const response = await proxy(destination, 'one.test').catch(() => undefined)
    return response?.status === 200
  })
})
