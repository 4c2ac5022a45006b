import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { unixHttp } from '../../src/common/unix-http.ts'
import { NackError } from '../../src/control-plane/discovery.ts'
import type { BootstrapOptions } from '../../src/control-plane/options.ts'
import { startXdsServer } from '../../src/control-plane/xds-server.ts'
import { createAuthority } from '../kit/authority.ts'
import { silentLog } from '../kit/egress.ts'
import { startControlledEnvoy } from '../kit/envoy.ts'
import { freePort } from '../kit/sidevault.ts'
import { until } from '../supervisor/processes.ts'

const clock = { now: () => Date.now() }

/** An xDS server, its Envoy, and a server behind it. */
const start = async (t: Test, uploadTimeoutMs = 2_000) => {
  const directory = mkdtempSync(join(tmpdir(), 'sidevault-control-'))
  const cwd = process.cwd()
  process.chdir(directory) // sockets have short names
  const authority = await createAuthority()
  writeFileSync('trust.pem', authority.pem)
  const api = createServer((_, response) => response.end('api')).listen('api.sock')
  const port = await freePort()
  const options: BootstrapOptions = {
    listen: { host: '127.0.0.1', port },
    gatewaySockets: ['gateway.sock'],
    apiSocket: 'api.sock',
    envoyAdminSocket: 'envoy.sock',
    prefixes: ['SVC'],
    egress: { allow: [], http: false, trustBundle: 'trust.pem' },
    requestTimeoutMs: 2_000,
    uploadTimeoutMs,
  }
  const control = await startXdsServer({ log: silentLog(), clock }, { socketPath: 'control.sock', options })
  t.teardown(async () => {
    await control.close()
    api.close()
    process.chdir(cwd)
    rmSync(directory, { recursive: true, force: true })
  })
  const get = (path: string, method = 'GET') =>
    new Promise<number>((resolve, reject) => {
      request({ host: '127.0.0.1', port, path, method, agent: false }, (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
        .on('error', reject)
        .end()
    })
  const envoy = await startControlledEnvoy(directory, port)
  t.teardown(() => envoy.stop())
  return { directory, control, envoy, get, port, authority }
}

t.test('Envoy applies initial resources, and changes at once', async (t) => {
  const { control, envoy, get } = await start(t)
  t.equal(await get('/'), 200)
  await until('Envoy has acknowledged everything', () => control.status().every(({ acked }) => acked))
  const listeners = await envoy.stat('listener_manager.listener_modified')
  await control.change((current) => ({
    ...current,
    bodyLimit: 4096,
    egress: { ...current.egress, http: true, allow: ['10.0.0.0/8'] },
  }))
  t.match(
    await envoy.page('/config_dump?resource=dynamic_route_configs'),
    /"request_body_buffer_limit": "4096"/,
  )
  const names = async () =>
    [...(await envoy.page('/clusters?format=json')).matchAll(/"name": ?"(destination_https?-[0-9a-f]{12})"/g)]
      .map(([, name]) => name)
      .toSorted()
  const before = await names()
  t.equal(before.filter((name) => name?.startsWith('destination_https-')).length, 2, 'the old one waits')
  t.equal(before.filter((name) => name?.startsWith('destination_http-')).length, 1)
  t.equal(await envoy.stat('listener_manager.listener_modified'), listeners, 'connections are left alone')
  await control.change((current) => ({ ...current, egress: { ...current.egress, http: false } }))
  t.equal(await envoy.stat('cluster.destination_https.upstream_cx_total'), 0, 'counted under a plain name')
  const dump = await envoy.page('/config_dump?resource=dynamic_route_configs')
  t.match(dump, /destination_https-/)
  t.notMatch(dump, /destination_http-/, 'no request goes there any more')
  await until('what was left goes when no request can be on its way', async () => {
    const left = await names()
    return left.length === 1 && left[0]?.startsWith('destination_https-') === true
  })
})

t.test('resources that Envoy rejects are rolled back and counted; the former ones stay in use', async (t) => {
  const { control, envoy, get } = await start(t)
  const rejected = control.change((current) => ({
    ...current,
    egress: { ...current.egress, allow: ['10.0.0.0/8'], trustBundle: 'missing.pem' },
  }))
  await t.rejects(rejected, new NackError(['clusters']))
  t.equal(await get('/'), 200)
  await until('Envoy has what it had', () => control.status().every(({ acked }) => acked))
  t.equal(control.status().find(({ kind }) => kind === 'clusters')?.nacked, 1)
  t.ok((await envoy.stat('cluster_manager.cds.update_rejected')) > 0)
  await t.rejects(
    control.change((current) => ({ ...current, prefixes: [] })),
    /header prefix/,
  )
  await control.change((current) => ({ ...current, bodyLimit: 4096 }))
  t.match(
    await envoy.page('/config_dump?resource=dynamic_route_configs'),
    /"request_body_buffer_limit": "4096"/,
  )
})

t.test('Envoy continues without its control plane, and a new one gets the current resources', async (t) => {
  const { directory, control, envoy, get, port } = await start(t)
  await control.change((current) => ({ ...current, bodyLimit: 4096 }))
  await envoy.stop()
  control.restarted()
  const again = await startControlledEnvoy(directory, port)
  t.teardown(() => again.stop())
  t.match(
    await again.page('/config_dump?resource=dynamic_route_configs'),
    /"request_body_buffer_limit": "4096"/,
  )
  await control.close()
  await until('Envoy finds that no server responds', async () => {
    const failures = await again.stat('cluster_manager.cds.update_failure')
    return failures > 0
  })
  t.equal(await get('/'), 200)
})

t.test('an Envoy whose address was in use at its start listens once the address is free', async (t) => {
  const { directory, control, envoy, get, port } = await start(t)
  await envoy.stop()
  const other = createServer((_, response) => response.end())
  other.listen(port, '127.0.0.1')
  await once(other, 'listening')
  control.restarted()
  const again = await startControlledEnvoy(directory, port)
  t.teardown(() => again.stop())
  await until('it has rejected its listener', async () =>
    control.status().some(({ kind, nacked }) => kind === 'listeners' && nacked === 1),
  )
  other.close()
  await until('it listens', async () => (await get('/').catch(() => 0)) === 200)
  await until('nothing is missing', () => control.status().every(({ acked }) => acked))
})

t.test('a new Envoy starts with the trust bundles that an unfinished change still names', async (t) => {
  const { directory, control, envoy, port, authority } = await start(t, 60_000)
  writeFileSync('other.pem', authority.pem)
  const trust = (trustBundle: string) =>
    control.change((current) => ({ ...current, egress: { ...current.egress, trustBundle } }))
  await trust('other.pem')
  t.ok(control.namesFile('trust.pem'), 'requests that are out may need it')
  // As settings do that have been taken.
  for (const file of ['trust.pem', 'other.pem']) if (!control.namesFile(file)) rmSync(file)
  await envoy.stop()
  const changed = control.change((current) => ({
    ...current,
    egress: { ...current.egress, allow: ['10.0.0.0/8'] },
  }))
  await new Promise(setImmediate) // it is in progress when the next Envoy starts
  control.restarted()
  const again = await startControlledEnvoy(directory, port)
  t.teardown(() => again.stop())
  await t.resolves(changed)
  await control.change((current) => current) // the last in turn
  const names = (await again.page('/clusters?format=json')).match(/"destination_https-[0-9a-f]{12}"/g)
  t.equal(new Set(names).size, 2, 'what this change left behind, the new Envoy may be using')
  t.ok(control.status().every(({ nacked }) => nacked === 0))
})

t.test("the key of the edge's certificate is in no file and no dump", async (t) => {
  const { control, envoy, authority, directory } = await start(t)
  const tls = await authority.issue(['edge.test'])
  await control.change((current) => ({ ...current, tls: { certificate: tls.cert, key: tls.key } }))
  const dump = await envoy.page('/config_dump?include_eds')
  t.match(dump, /edge/)
  const secret = tls.key.split('\n')[1] as string
  t.notMatch(dump, secret)
  t.notMatch(dump, Buffer.from(tls.key).toString('base64').slice(0, 60))
  t.match(dump, /redacted/)
  t.notMatch(readFileSync(join(directory, 'envoy.json'), 'utf8'), secret)
})

t.test('a gateway gets clusters of certificates, and none with another name', async (t) => {
  const { control, envoy } = await start(t)
  const put = (name: string) =>
    unixHttp('control.sock', 'PUT', `/identities/${name}`, { body: { owner: 'tenant' }, timeoutMs: 10_000 })
  for (const name of ['destination_https', 'destination_https-0123456789ab', 'gateway', 'xdestination_tls_1'])
    t.equal((await put(name)).status, 404, name)
  const clusterOf = async (name: string): Promise<string> => {
    const { status, body } = await put(name)
    t.equal(status, 200)
    return JSON.parse(body).cluster
  }
  const clusters = async () => envoy.page('/clusters?format=json')
  const before = await clusterOf('destination_tls_1')
  t.match(before, /^destination_tls_1-[0-9a-f]{12}$/)
  t.ok((await clusters()).includes(before))
  t.not(await clusterOf('destination_tls_2'), before)
  await control.change((current) => ({ ...current, egress: { ...current.egress, allow: ['10.0.0.0/8'] } }))
  const after = await clusterOf('destination_tls_1')
  t.not(after, before, 'of other settings')
  t.ok((await clusters()).includes(after))
  t.ok((await clusters()).includes(before), 'the old one waits')
  await until('what was left goes when no request can be on its way', async () => {
    const now = await clusters()
    return !now.includes(before) && now.includes(after)
  })
  t.ok(control.status().every(({ nacked }) => nacked === 0))
})
