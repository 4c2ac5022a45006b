import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { directoryFor } from '../kit/directory.ts'
import { freePort, type Sidevault, type SidevaultOptions, startSidevault } from '../kit/sidevault.ts'
import { until } from '../kit/until.ts'

const start = async (t: Test, options: SidevaultOptions): Promise<Sidevault> => {
  const service = await startSidevault(options)
  t.teardown(() => service.stop())
  return service
}

// One of them waits for an admin that does not come.
t.jobs = 3

t.test('the roles admin and gateway together work as one service', { buffered: true }, async (t) => {
  const dataDir = directoryFor(t)
  const env = { SIDEVAULT_WORKERS: '2' }
  const admin = await start(t, { dataDir, role: 'admin', env })
  const ops = `127.0.0.1:${await freePort()}`
  const gateway = await start(t, { dataDir, role: 'gateway', env: { ...env, SIDEVAULT_OPS_LISTEN: ops } })
  const operations = (path: string) => fetch(`http://${ops}${path}`)

  t.match(await (await operations('/healthz')).json(), { status: 'ok' })
  const ready = await operations('/readyz')
  t.equal(ready.status, 200)
  const { components } = (await ready.json()) as { components: { name: string }[] }
  const parts = components.map(({ name }) => name)
  for (const part of ['store', 'keys', 'journal', 'sandbox', 'envoy', 'gateway-1', 'gateway-1-sandbox'])
    t.ok(parts.includes(part), part)
  t.notOk(parts.includes('gateway-0'), 'it is the process that responds')
  const metrics = await (await operations('/metrics')).text()
  for (const name of ['envoy', 'gateway-0', 'gateway-1'])
    t.match(metrics, `sidevault_process_up{process="${name}"} 1`)

  for (const path of ['/tokens', '/docs', '/openapi.json', '/nowhere', '/healthz', '/readyz', '/metrics']) {
    const rejected = await gateway.call('GET', path, { key: admin.managementKey })
    t.match(rejected.json, { status: 404, detail: /management calls .* role admin/ }, path)
    t.ok(rejected.headers.get('svc-trace-id'))
  }
  t.notMatch(gateway.stdout(), /management key|\/docs/)
  for (const path of ['/proxy', '/console/api/proxy']) {
    const rejected = await admin.call('POST', path, { key: admin.managementKey, body: {} })
    t.equal(rejected.status, 404, path)
  }
  t.match((await admin.call('POST', '/proxy/a')).json, { detail: /node with the role all or gateway/ })

  const key = await admin.application({ permissions: ['token:use'] })
  const proxied = () =>
    gateway.call('POST', '/proxy', {
      key,
      body: {},
      headers: { 'svc-proxy-url': 'https://127.0.0.1/' },
    })
  const rejection = await proxied()
  t.not(rejection.status, 401, 'the key is known here too')
  const { id } = (await admin.call('GET', '/applications/key', { key })).json
  t.equal((await admin.call('DELETE', `/applications/${id}`, { key: admin.managementKey })).status, 204)
  t.equal((await proxied()).status, 401, 'and unknown as soon as it is deleted there')
})

t.test(
  'a gateway whose store no admin has prepared reports that and exits',
  { buffered: true },
  async (t) => {
    const failed = await startSidevault({ dataDir: directoryFor(t), role: 'gateway' }).catch(
      (error: Error) => error.message,
    )
    t.match(failed, /ended with 1/)
    t.match(failed, /Start the admin role/)
  },
)

t.test('the role admin with a listener of its own needs no Envoy', { buffered: true }, async (t) => {
  const [port, edge] = [await freePort(), await freePort()]
  const env = {
    SIDEVAULT_LISTEN: `127.0.0.1:${edge}`,
    SIDEVAULT_API_LISTEN: `127.0.0.1:${port}`,
    ENVOY_BIN: '/nowhere/envoy',
  }
  const dataDir = directoryFor(t)
  const audit = join(dataDir, 'audit')
  const file = 'operator.000001.jsonl'
  mkdirSync(audit, { mode: 0o700 })
  // Cannot be opened, not even by root.
  symlinkSync(file, join(audit, file))
  const admin = await start(t, { port, role: 'admin', env, dataDir })
  const ready = await admin.call('GET', '/readyz')
  t.equal(ready.status, 200)
  const parts = ready.json.components.map(({ name }: { name: string }) => name)
  t.ok(parts.includes('store'))
  t.notOk(parts.includes('envoy') || parts.includes('envoy_config'))
  t.match((await admin.call('GET', '/metrics')).text, /sidevault_process_up\{process="admin"\} 1/)
  const key = await admin.application({ permissions: ['token:create'] })
  const created = await admin.call('POST', '/tokens', { key, body: { type: 'token', data: 'a' } })
  t.equal(created.status, 201)
  await t.rejects(fetch(`http://127.0.0.1:${edge}/healthz`), 'there is no edge')
  const line = new RegExp(`listens on +http://127\\.0\\.0\\.1:${port} `)
  await until('the line that says where it listens', () => line.test(admin.stdout()))

  await t.test('a journal that it cannot read is named in its log', async (t) => {
    t.match(admin.stderr(), /operator\.000001\.jsonl".*the audit journals were not ingested completely/)
  })
})
