import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { INSPECTABLE, openInspector } from '../bench/collected.ts'
import { partsBelow } from '../bench/processes.ts'
import { startSidevault } from '../kit/sidevault.ts'

/** V8's coverage: the calls of each function since the start of a process, or since the last report. */
interface Coverage {
  readonly result: readonly {
    readonly url: string
    readonly functions: readonly {
      readonly functionName: string
      readonly ranges: readonly { readonly startOffset: number; readonly count: number }[]
    }[]
  }[]
}

const directory = mkdtempSync(join(tmpdir(), 'sidevault-first-calls-'))
t.teardown(() => rmSync(directory, { recursive: true, force: true }))
const dataDir = join(directory, 'data')
const reports = join(directory, 'coverage')
const before = await startSidevault({ dataDir })
const key = await before.application({ permissions: ['token:create', 'token:read', 'token:use'] })
const data = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030 }
const { id } = (await before.call('POST', '/tokens', { key, body: { type: 'card', data } })).json
await before.stop()
const service = await startSidevault({ dataDir, env: { ...INSPECTABLE, NODE_V8_COVERAGE: reports } })
t.teardown(() => service.stop())

/** Returns the functions of the service that a process has called since the last report. */
const watch = async (pid: number) => {
  const inspector = await openInspector(pid)
  t.teardown(() => inspector.close())
  const read = new Set<string>()
  return async (): Promise<ReadonlySet<string>> => {
    await inspector.evaluate(`(process.getBuiltinModule('node:v8').takeCoverage(), true)`)
    const names = readdirSync(reports).filter((name) => name.includes(`-${pid}-`) && !read.has(name))
    for (const name of names) read.add(name)
    const coverages: Coverage[] = names.map((name) => JSON.parse(readFileSync(join(reports, name), 'utf8')))
    const called = coverages
      .flatMap(({ result }) => result)
      .filter(({ url }) => /\/(src|plugins)\//.test(url))
      .flatMap(({ url, functions }) =>
        functions
          .filter(({ ranges: [range] }) => (range?.count ?? 0) > 0)
          .map(({ functionName, ranges: [range] }) => `${url} ${functionName} ${range?.startOffset}`),
      )
    return new Set(called)
  }
}

t.test('the first call and the first read run functions that ran before the service was ready', async (t) => {
  const { admin = 0, gateway = 0 } = partsBelow(service.pid)
  const calledBy = { admin: await watch(admin), gateway: await watch(gateway) }
  const atStart = { admin: await calledBy.admin(), gateway: await calledBy.gateway() }
  const proxied = await service.call('POST', '/proxy', {
    key,
    body: { card: `{{ ${id} | json: '$.number' }}` },
    headers: { 'svc-proxy-url': 'https://demo.sidevault.test/pay' },
  })
  t.equal(proxied.json.body.card, data.number)
  t.equal((await service.call('GET', `/tokens/${id}`, { key })).status, 200)
  for (const kind of ['admin', 'gateway'] as const) {
    const called = await calledBy[kind]()
    const fresh = [...called].filter((name) => !atStart[kind].has(name))
    t.ok(called.size > 200, `${kind}: the call is seen`)
    // Envoy's log of the call comes behind it, and is read in some 50 functions.
    t.ok(
      fresh.length * 10 <= called.size,
      `${kind}: ${fresh.length} of ${called.size} run for the first time`,
      {
        fresh,
      },
    )
  }
})

t.test('a warm-up is in no list, record or metric, and leaves no file', async (t) => {
  const list = async (path: string) => {
    const { status, json } = await service.call('GET', path, { key: service.managementKey })
    t.equal(status, 200, path)
    return json
  }
  const metrics = (await service.call('GET', '/metrics')).text.split('\n')
  const sumOf = (name: string, ...labels: string[]) =>
    metrics
      .filter((line) => line.startsWith(`${name}{`) && labels.every((label) => line.includes(label)))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
  t.equal(sumOf('sidevault_requests_total', 'operation="Tokens.Get"'), 1)
  t.equal(sumOf('sidevault_requests_total', 'operation="proxy"'), 1)
  t.equal(sumOf('sidevault_requests_total', 'operation="Tokens.Create"'), 0)
  t.equal(sumOf('sidevault_tokens_disclosed_total'), 2)
  t.equal(
    (await list('/applications')).data.length,
    2,
    'the management application, and the one of this test',
  )
  const requests: readonly { readonly route: string }[] = (await list('/requests')).data
  const own = requests.filter(({ route }) => route === '/proxy' || route.startsWith('/tokens/'))
  t.equal(own.length, 2)
  const logs: readonly { readonly trace_id?: string }[] = (await list('/logs?size=100')).data
  t.ok(logs.length > 0)
  t.same(
    logs.filter((record) => JSON.stringify(record).includes('warm-up')),
    [],
  )
  t.notMatch(service.stderr(), /warm-up/)
  t.same(
    readdirSync(join(dataDir, 'run')).filter((name) => name.startsWith('warm-up')),
    [],
  )
})
