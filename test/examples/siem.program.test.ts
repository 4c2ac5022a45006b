import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gunzipSync } from 'node:zlib'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { provideSdk } from '../../src/kernel/load/import-module.ts'
import type { LogEntry, Plugin, PluginContext } from '../../src/sdk/index.ts'
import { startSidevault } from '../kit/sidevault.ts'
import { root } from '../kit/sources.ts'
import { until } from '../kit/until.ts'
import { installExample } from './project.ts'

const FOLDER = join(root, 'examples/plugin-siem')
const TOKEN = 'token-of-the-collector'

const record: LogEntry = {
  position: 7,
  tenant_id: 'tenant',
  actor_id: 'app',
  actor_type: 'application',
  entity_type: 'card',
  entity_id: 'token',
  operation: 'use',
  message: 'Token used',
  created_at: 1_700_000_000_000,
  trace_id: 'trace',
  disclosure: 'reveal',
  surfaces: ['body'],
  labels: { risk: 'low' },
}

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly path: string
  // biome-ignore lint/suspicious/noExplicitAny: events as they are received
  readonly events: readonly any[]
}

/** A collector with these first responses, and 202 to all others. */
const startCollector = async (t: Test, ...first: readonly (readonly [number, Record<string, string>?])[]) => {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const lines = gunzipSync(Buffer.concat(chunks)).toString().trimEnd().split('\n')
    const { headers, url: path = '' } = request
    received.push({ headers, path, events: lines.map((line) => JSON.parse(line)) })
    const [status, responseHeaders] = first[received.length - 1] ?? [202]
    response.writeHead(status, responseHeaders).end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`, received }
}

const importPlugin = async (): Promise<Plugin> => {
  provideSdk()
  return (await import(pathToFileURL(join(FOLDER, 'index.js')).href)).plugin
}

const consumerOf = async (url: string, batch = 500) => {
  const config = { url, token: TOKEN, scheme: 'Bearer', batch, from: 'now' }
  const { consumers } = await (await importPlugin()).setup({ config } as unknown as PluginContext)
  return consumers![0]!
}

const { signal } = new AbortController()

t.test('it is short, and uses the public SDK alone', async (t) => {
  const texts = readdirSync(FOLDER).map((name) => readFileSync(join(FOLDER, name), 'utf8'))
  t.ok(texts.join('').split('\n').length < 200)
  const imports = texts.flatMap((text) =>
    [...text.matchAll(/^import .* from '(.*)'$/gm)].map(([, from]) => from),
  )
  t.ok(imports.length > 0)
  t.same(
    imports.filter((from) => !/^(?:node:.*|sidevault\/sdk|\.\/ocsf\.js)$/.test(from!)),
    [],
  )
})

t.test('a record is an event of API Activity', async (t) => {
  const { eventOf } = await import(pathToFileURL(join(FOLDER, 'ocsf.js')).href)
  t.strictSame(eventOf(record), {
    category_uid: 6,
    category_name: 'Application Activity',
    class_uid: 6003,
    class_name: 'API Activity',
    activity_id: 2,
    activity_name: 'Read',
    type_uid: 600_302,
    severity_id: 1,
    time: 1_700_000_000_000,
    message: 'Token used',
    metadata: {
      version: '1.8.0',
      uid: 'tenant:trace:7',
      sequence: 7,
      tenant_uid: 'tenant',
      correlation_uid: 'trace',
      product: { name: 'Sidevault', vendor_name: 'Sidevault' },
    },
    actor: { app_uid: 'app' },
    api: { operation: 'card.use' },
    src_endpoint: { name: 'unknown' },
    resources: [{ type: 'card', uid: 'token' }],
    unmapped: { disclosure: 'reveal', surfaces: ['body'], labels: { risk: 'low' } },
  })
  const operations = ['create', 'read', 'update', 'delete', 'constructor']
  t.strictSame(
    operations.map((operation) => eventOf({ ...record, operation }).type_uid),
    [600_301, 600_302, 600_303, 600_304, 600_399],
  )
  const actors = [
    { actor_type: 'user' },
    { actor_type: 'session' },
    { actor_id: null, actor_type: 'operator' },
    { actor_id: null, actor_type: null },
  ].map((actor) => eventOf({ ...record, ...actor }).actor)
  t.strictSame(actors, [
    { user: { uid: 'app' } },
    { session: { uid: 'app' } },
    { app_name: 'operator' },
    { app_name: 'anonymous' },
  ])
  t.strictSame(eventOf({ ...record, entity_id: '' }).resources, [{ type: 'card', name: 'card' }])
  const { unmapped } = JSON.parse(
    JSON.stringify(eventOf({ ...record, value: 'v', surfaces: undefined, labels: undefined })),
  )
  t.strictSame(unmapped, { disclosure: 'reveal' }, 'only members that are listed')
})

t.test('batches follow each other, and the first that is not accepted rejects', async (t) => {
  const collector = await startCollector(t, [200], [302, { location: '/elsewhere' }])
  const consumer = await consumerOf(collector.url, 2)
  const records = [1, 2, 3, 4, 5].map((position) => ({ ...record, position }))
  await t.rejects(consumer.handle(records, signal), { code: 'COLLECTOR_302' })
  const sequences = () =>
    collector.received.map(({ events }) => events.map(({ metadata }) => metadata.sequence))
  t.strictSame(sequences(), [
    [1, 2],
    [3, 4],
  ])
  await consumer.handle(records, signal)
  t.strictSame(sequences().slice(2), [[1, 2], [3, 4], [5]])
  t.ok(collector.received.every(({ path }) => path === '/events'))
  t.match(collector.received[0]!.headers, {
    authorization: `Bearer ${TOKEN}`,
    'content-type': 'application/x-ndjson',
    'content-encoding': 'gzip',
  })
})

t.test('nothing is sent before Retry-After, and the signal ends the pause', async (t) => {
  const date = new Date(Date.now() + 3_600_000).toUTCString()
  const collector = await startCollector(t, [429, { 'retry-after': '3600' }], [503, { 'retry-after': date }])
  const paused = [await consumerOf(collector.url), await consumerOf(collector.url)]
  for (const consumer of paused)
    await t.rejects(consumer.handle([record], signal), { code: /^COLLECTOR_(429|503)$/ })
  const controller = new AbortController()
  const pauses = paused.map((consumer) => consumer.handle([record], controller.signal))
  // Any other request is received before this one.
  await (await consumerOf(collector.url)).handle([record], signal)
  controller.abort()
  for (const pause of pauses) await t.rejects(pause, { name: 'AbortError' })
  t.equal(collector.received.length, 3)
})

t.test('installed from outside, it sends each row of the log, in order per process', async (t) => {
  const collector = await startCollector(t, [503], [429, { 'retry-after': '1' }])
  const folder = t.testdir({ 'package.json': '{"private":true}' })
  installExample(folder, 'plugin-siem')
  const configuration = join(folder, 'sidevault.yaml')
  const siem = { url: collector.url, token: TOKEN, from: 'start' }
  writeFileSync(
    configuration,
    `plugins: ["*", sidevault-plugin-siem]\nplugin_config: ${JSON.stringify({ siem })}\n`,
  )
  const vault = await startSidevault({
    env: { SIDEVAULT_CONFIG: configuration },
    dataDir: join(folder, 'data'),
  })
  t.teardown(() => vault.stop())
  const key = await vault.application({ permissions: ['token:create', 'token:read', 'token:use'] })
  for (const data of ['first secret', 'second secret']) {
    const { id } = (await vault.call('POST', '/tokens', { key, body: { data } })).json
    await vault.call('GET', `/tokens/${id}`, { key })
    const headers = { 'svc-proxy-url': 'https://demo.sidevault.test' }
    const sent = await vault.call('POST', '/proxy', { key, body: { sent: `{{ ${id} }}` }, headers })
    t.match(sent, { status: 200, json: { body: { sent: data } } })
  }

  const logs = async (query: string) =>
    (await vault.call('GET', `/logs?${query}`, { key: vault.managementKey })).json
  await until('both outcomes', async () => (await logs('operation=outcome')).data.length === 2)
  // Reads of the log are not recorded.
  const { data, pagination } = await logs('size=1000')
  t.equal(data.length, pagination.total_items)
  const accepted = () => collector.received.slice(2).flatMap(({ events }) => events)
  await until('as many events as records', () => accepted().length >= data.length)
  const rowOf = (row: { trace_id: string; entity_type: string; entity_id: string; operation: string }) =>
    [row.trace_id, row.entity_type, row.entity_id, row.operation].join(' ')
  const eventRow = ({ metadata, api, resources: [{ type, uid }] }: Received['events'][number]) =>
    [metadata.correlation_uid, type, uid, api.operation.split('.')[1]].join(' ')
  t.strictSame(new Set(accepted().map(eventRow)), new Set(data.map(rowOf)), 'each row of GET /logs')
  t.ok(data.some(({ operation }: { operation: string }) => operation === 'use'))

  const db = new Database(join(vault.dataDir, 'sidevault.db'), { readonly: true })
  t.teardown(() => db.close())
  const stored = db.prepare('select seq, journal, journal_seq from logs order by seq').all() as {
    seq: number
    journal: string
    journal_seq: number
  }[]
  t.strictSame(
    accepted().map(({ metadata }) => metadata.sequence),
    stored.map(({ seq }) => seq),
  )
  const journals = Map.groupBy(stored, ({ journal }) => journal)
  t.ok(journals.size > 1, 'of several processes')
  for (const rows of journals.values()) {
    const numbers = rows.map(({ journal_seq }) => journal_seq)
    t.strictSame(
      numbers,
      numbers.toSorted((a, b) => a - b),
      'in order per process',
    )
  }

  const uids = (events: Received['events']) => events.map(({ metadata }) => metadata.uid)
  const [failed, again] = collector.received.map(({ events }) => uids(events))
  t.strictSame(again?.slice(0, failed?.length), failed, 'a repeated event has the same uid')
  t.equal(new Set(uids(accepted())).size, data.length)
  t.notMatch(JSON.stringify(collector.received.map(({ events }) => events)), /(first|second) secret/)
  t.match(vault.stderr(), /COLLECTOR_503/)
  t.notMatch(vault.stdout() + vault.stderr(), TOKEN)
})
