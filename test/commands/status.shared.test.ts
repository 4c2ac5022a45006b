import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { directoryFor } from '../kit/directory.ts'
import { listenFor } from '../kit/listen.ts'
import { FORWARD_PROXY, sharedSidevault } from '../kit/shared-sidevault.ts'
import { command } from './in-process.ts'

const here = t.testdir()
const status = (dataDir: string, ...args: string[]) =>
  command(here, ['status', ...args], { SIDEVAULT_DATA_DIR: dataDir })

t.test('status, tenants and the schema of the configuration of a running service', async (t) => {
  const service = await sharedSidevault(FORWARD_PROXY)
  const { code, text } = await status(service.dataDir)
  t.equal(code, 0, text)
  t.match(text, new RegExp(`^ready: role all, version \\S+, pid ${service.pid}\\n`))
  t.match(text, `  listens on      ${service.url}\n`)
  t.match(text, /^ {2}ok {8}envoy$/m)

  const shown = await status(service.dataDir, '--json')
  t.equal(shown.code, 0)
  const { components } = (await service.call('GET', '/readyz')).json
  t.match(JSON.parse(shown.text), {
    ready: true,
    data_dir: service.dataDir,
    services: [
      {
        role: 'all',
        ready: true,
        state: 'ready',
        pid: service.pid,
        listeners: { edge: service.url },
        // Details of consumers and jobs may have changed since.
        components: components.map(({ name, status }: { name: string; status: string }) => ({
          name,
          status,
        })),
      },
    ],
  })

  const schema = await service.call('GET', '/docs/config.schema.json')
  t.match(schema.headers.get('content-type'), /^application\/schema\+json\b/)
  const printed = await command(service.dataDir, ['config', 'schema'])
  t.same(JSON.parse(printed.text), schema.json)

  const tenants = await command(service.dataDir, ['tenants', 'list', '--json'], {
    SIDEVAULT_DATA_DIR: service.dataDir,
  })
  const { id, name } = (await service.call('GET', '/tenants/self', { key: service.managementKey })).json
  const listed = JSON.parse(tenants.text).find((tenant: { id: string }) => tenant.id === id)
  t.match(listed, { id, name, created_at: /^20/ })
})

t.test('status --json prints one JSON value when no service runs', async (t) => {
  const dataDir = join(directoryFor(t), 'missing')
  const { code, out, err } = await status(dataDir, '--json')
  t.equal(code, 1)
  t.match(err, /^sidevault: No service runs on the data directory [^\n]+\n$/)
  t.same(JSON.parse(out), { ready: false, data_dir: dataDir, services: [] })
})

/** A service whose sockets respond like this. */
const service = async (
  t: Test,
  state: string,
  readyz: { status: number; body: object } | undefined,
  listeners = {},
) => {
  const dataDir = directoryFor(t)
  const runDir = join(dataDir, 'run-gateway')
  mkdirSync(runDir, { recursive: true })
  const serve = async (name: string, code: number, body: object) => {
    const server = createServer((_, response) => void response.writeHead(code).end(JSON.stringify(body)))
    await new Promise<void>((resolve) => server.listen(join(runDir, name), resolve))
    t.teardown(() => server.close())
  }
  await serve('control.sock', 200, { role: 'gateway', version: '1.2.3', pid: 7, state, listeners })
  if (readyz !== undefined) await serve('api.sock', readyz.status, readyz.body)
  return dataDir
}

t.test('a service with a failed component is not ready', async (t) => {
  const components = [
    { name: 'store', status: 'failed', since: '2026-01-01T00:00:00Z' },
    { name: 'sandbox', status: 'degraded', missing: ['uid', 'network'] },
  ]
  const dataDir = await service(t, 'ready', { status: 503, body: { components } })
  t.match(await status(dataDir), {
    code: 1,
    text: `not ready: role gateway, version 1.2.3, pid 7
  failed    store, since 2026-01-01T00:00:00Z
  degraded  sandbox, without uid, network
`,
  })
})

t.test('the components are those of the listener of operators where there is one', async (t) => {
  const components = [{ name: 'store', status: 'ok' }]
  const server = createServer(({ url }, response) => {
    response.writeHead(url === '/readyz' ? 200 : 404).end(JSON.stringify({ components }))
  })
  const ops = `http://127.0.0.1:${await listenFor(t, server)}`
  const notFound = { status: 404, body: {} }
  t.match(await status(await service(t, 'ready', notFound, { ops })), {
    code: 0,
    text: `ready: role gateway, version 1.2.3, pid 7\n  operations      ${ops}\n  ok        store\n`,
  })
})

t.test('a service that starts, or whose process does not respond, is not ready', async (t) => {
  const starting = await service(t, 'starting', { status: 200, body: { components: [] } })
  t.match(await status(starting), { code: 1, text: /^starting: / })
  const silent = await service(t, 'ready', undefined)
  t.match(await status(silent), { code: 1, text: /^not ready: [^\n]+\n {2}\/readyz does not respond\n$/ })
})
