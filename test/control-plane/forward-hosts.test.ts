import { join } from 'node:path'
import t from 'tap'
import { unixHttp } from '../../src/common/unix-http.ts'
import { renderBootstrap } from '../../src/control-plane/bootstrap.ts'
import { parseForwardHosts, reportForwardHosts } from '../../src/control-plane/forward-hosts.ts'
import type { BootstrapOptions } from '../../src/control-plane/options.ts'
import { startXdsServer } from '../../src/control-plane/xds-server.ts'
import { MAX_HOSTS } from '../../src/forward-proxy/bound-hosts.ts'
import { createAuthority } from '../kit/authority.ts'
import { directoryFor } from '../kit/directory.ts'
import { silentLog } from '../kit/egress.ts'
import { createSnapshot } from '../kit/envoy.ts'

const authority = await createAuthority()
const { cert, key } = await authority.issue(['api.test'])
const own = `${cert.trim()}\n`

t.test('a report has each chain once, and its hosts get theirs back', async (t) => {
  const hosts = [own, own + authority.pem, own + authority.pem].map((certificate, at) => ({
    host: `host-${at}.test`,
    certificate,
    key,
  }))
  const report = reportForwardHosts(hosts)
  t.same(report.chains, ['', authority.pem])
  t.same(parseForwardHosts(JSON.parse(JSON.stringify(report))), hosts)
  t.throws(() => parseForwardHosts({ ...report, chains: [''] }))
  t.throws(() => parseForwardHosts({ hosts: report.hosts }))
})

const OPTIONS: BootstrapOptions = {
  listen: { host: '127.0.0.1', port: 8080 },
  gatewaySockets: ['gateway.sock'],
  apiSocket: 'api.sock',
  envoyAdminSocket: 'envoy.sock',
  prefixes: ['SVC'],
  egress: { allow: [], http: false, trustBundle: 'trust.pem' },
}
const FORWARD = { listen: { host: '127.0.0.1', port: 8090 }, tls: false, hosts: [] }

/** As many as may be bound, with long names and a chain of so many bytes. */
const manyHosts = (chainBytes: number) => {
  const chain = authority.pem.repeat(Math.ceil(chainBytes / authority.pem.length))
  return Array.from({ length: MAX_HOSTS.all }, (_, at) => ({
    host: `${'label.'.repeat(20)}host-${at}.test`,
    certificate: own + chain,
    key,
  }))
}

t.test('as many hosts as may be bound fit into a report, with long names and a long chain', async (t) => {
  const socketPath = join(directoryFor(t), 'control.sock')
  const options = { ...OPTIONS, forward: FORWARD }
  const control = await startXdsServer(
    { log: silentLog(), clock: Date },
    { socketPath, options, edge: false },
  )
  t.teardown(() => control.close())
  const call = { body: reportForwardHosts(manyHosts(12_000)), timeoutMs: 30_000 }
  t.match(await unixHttp(socketPath, 'PUT', '/forward-hosts', call), { status: 200 })
})

t.test('GET /forward-hosts/<host> waits until the host is opened', async (t) => {
  const socketPath = join(directoryFor(t), 'control.sock')
  const options = { ...OPTIONS, forward: FORWARD }
  const control = await startXdsServer(
    { log: silentLog(), clock: Date },
    { socketPath, options, edge: false },
  )
  t.teardown(() => control.close())
  const opened = (host: string) =>
    unixHttp(socketPath, 'GET', `/forward-hosts/${host}`, { timeoutMs: 30_000 })
  const order: string[] = []
  const waiting = opened('api.test').then(({ status }) => order.push(`opened with ${status}`))
  t.match(await unixHttp(socketPath, 'GET', '/status'), { status: 200 })
  order.push('reported')
  const hosts = ['api.test', '*.wild.test'].map((host) => ({ host, certificate: own, key }))
  await unixHttp(socketPath, 'PUT', '/forward-hosts', { body: reportForwardHosts(hosts) })
  await waiting
  t.same(order, ['reported', 'opened with 200'])
  t.match(await opened('a.wild.test'), { status: 200 })
})

t.test('Envoy applies a discovery response with the maximum of hosts', async (t) => {
  const bootstrap = renderBootstrap({
    envoyAdminSocket: 'envoy.sock',
    controlSocket: 'control.sock',
    forwards: true,
  })
  const [, limit] = /"http\.async_response_buffer_limit":(\d+)/.exec(JSON.stringify(bootstrap)) ?? []
  const { listeners } = createSnapshot({ ...OPTIONS, forward: { ...FORWARD, hosts: manyHosts(12_000) } })
  t.ok(JSON.stringify(listeners).length < Number(limit))
})
