/**
 * How cost grows: with what is stored, with tokens in a body, with the body's size, with calls at once, with proxies and
 * applications. `node test/bench/growth.ts [--most 10000000] [--seconds 3] [part…]`, with ENVOY_BIN set; parts: stored,
 * tokens, sizes, concurrency, proxies. Prints Markdown and writes results/growth.json and plots/*.svg beside this file.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import Database from 'better-sqlite3'
import { ALL_TOKEN_PERMISSIONS, type Sidevault, startSidevault } from '../kit/sidevault.ts'
import { fillTokens } from '../store/sqlite/filled.ts'
import { cpuDuring, residentMiB } from './cpu.ts'
import { type BenchDestination, startDestination } from './destination.ts'
import { httpRequest, load } from './load.ts'
import { partsBelow } from './processes.ts'
import { type Figure, report } from './report.ts'

const { values: given, positionals } = parseArgs({
  options: { most: { type: 'string', default: '10000000' }, seconds: { type: 'string', default: '3' } },
  allowPositionals: true,
})
const most = Number(given.most)
const seconds = Number(given.seconds)
const powers = (from: number, to: number) =>
  Array.from({ length: Math.round(Math.log10(to / from)) + 1 }, (_, index) => from * 10 ** index)
const log = (text: string) => process.stderr.write(`${text}\n`)

const JSON_BODY = { 'content-type': 'application/json' }
const CARD =
  '{"type":"card","data":{"number":"4242424242424242","expiration_month":1,"expiration_year":2031}}'
/** Tokens that are read and used in turn. */
const USED = 200
/** Tokens written by one statement. */
const CHUNK = 100_000

interface Asked {
  readonly name: string
  readonly requests: readonly Buffer[]
}

/** Requests of one kind in turn, after a moment of the same that is not counted. */
const measure = async (sidevault: Sidevault, { name, requests }: Asked, concurrency = 8): Promise<Figure> => {
  const { port } = sidevault
  const target = { host: '127.0.0.1', port, requests, concurrency }
  await load({ ...target, seconds: seconds / 2 })
  const pids = partsBelow(sidevault.pid)
  const { result, used } = await cpuDuring(pids, () => load({ ...target, seconds }))
  const cpu = Object.values(used).reduce((sum, each) => sum + each, 0)
  const { perSecond, p50, p99, failures } = result
  return { name, perSecond, p50, p99, failures, cpuMs: (cpu / result.requests) * 1000 }
}

const createCard = async (sidevault: Sidevault, key: string): Promise<string> => {
  const response = await sidevault.call('POST', '/tokens', { key, body: JSON.parse(CARD) })
  if (response.status !== 201) throw new Error(response.text)
  return response.json.id
}

const proxied = (destination: BenchDestination, key: string, body: string, type = 'application/json') =>
  httpRequest(
    'POST',
    '/proxy/charge',
    { 'content-type': type, 'svc-api-key': key, 'svc-proxy-url': destination.url },
    body,
  )

const use = (id: string) => `{{ ${id} | json: '$.number' }}`

/** A whole program with an application that may do everything with tokens, and some cards. */
const withService = async <T>(
  destination: BenchDestination,
  work: (service: { sidevault: Sidevault; key: string; ids: readonly string[] }) => Promise<T>,
  dataDir?: string,
): Promise<T> => {
  const sidevault = await startSidevault({ env: destination.env, ...(dataDir ? { dataDir } : {}) })
  try {
    const key = await sidevault.application({ permissions: ALL_TOKEN_PERMISSIONS })
    const ids: string[] = []
    for (let index = 0; index < USED; index++) ids.push(await createCard(sidevault, key))
    return await work({ sidevault, key, ids })
  } finally {
    await sidevault.stop()
  }
}

const storedTokens = async (destination: BenchDestination) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sidevault-growth-'))
  const file = join(dataDir, 'sidevault.db')
  const figures: (Figure & { readonly at: number })[] = []
  const bytes: [number, number][] = []
  try {
    for (const size of powers(10_000, most)) {
      await withService(
        destination,
        async ({ sidevault, key }) => {
          const me = await sidevault.call('GET', '/tenants/self', { key: sidevault.managementKey })
          log(`  filling up to ${size.toLocaleString('en')} tokens …`)
          await sidevault.stop()
          const db = new Database(file)
          const [{ next }] = db.prepare('select coalesce(max(seq), 0) + 1 as next from tokens').all() as [
            { next: number },
          ]
          for (let from = next; from <= size; from += CHUNK)
            fillTokens(db, from, Math.min(from + CHUNK, size + 1), me.json.id)
          db.close()
          return key
        },
        dataDir,
      )
      bytes.push([size, statSync(file).size / size])
      await withService(
        destination,
        async ({ sidevault, key, ids }) => {
          const headers = { ...JSON_BODY, 'svc-api-key': key }
          await sidevault.call('POST', '/tokens', {
            key,
            body: { data: `needle-${size}`, search_indexes: ['{{ data }}'] },
          })
          const search = JSON.stringify({ query: `data:"needle-${size}"`, size: 5 })
          const kinds: Asked[] = [
            { name: 'create', requests: [httpRequest('POST', '/tokens', headers, CARD)] },
            { name: 'read', requests: ids.map((id) => httpRequest('GET', `/tokens/${id}`, headers)) },
            {
              name: 'proxy, one token',
              requests: ids.map((id) => proxied(destination, key, JSON.stringify({ card: use(id) }))),
            },
            { name: 'list of 20', requests: [httpRequest('GET', '/v2/tokens?size=20', headers)] },
            { name: 'search', requests: [httpRequest('POST', '/v2/tokens/search', headers, search)] },
          ]
          for (const kind of kinds) figures.push({ ...(await measure(sidevault, kind)), at: size })
        },
        dataDir,
      )
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
  report('stored', {
    title: 'CPU of a request against tokens stored (SQLite, concurrency 8)',
    x: { label: 'tokens stored', log: true },
    y: { label: 'CPU ms a request, all processes' },
    figures,
    value: ({ cpuMs }) => cpuMs,
  })
  log(`bytes of database a token: ${bytes.map(([size, each]) => `${size}: ${each.toFixed(0)}`).join(', ')}`)
}

const tokensPerBody = (destination: BenchDestination) =>
  withService(destination, async ({ sidevault, key, ids }) => {
    const more = [...ids]
    while (more.length < 1_000) more.push(await createCard(sidevault, key))
    const figures: (Figure & { readonly at: number })[] = []
    for (const count of powers(1, 1_000)) {
      const body = JSON.stringify(more.slice(0, count).map((id) => ({ card: use(id) })))
      const kind = { name: 'proxy', requests: [proxied(destination, key, body)] }
      figures.push({ ...(await measure(sidevault, kind)), at: count })
    }
    report('tokens', {
      title: 'CPU of a token against tokens in one body (concurrency 8)',
      x: { label: 'tokens in the body', log: true },
      y: { label: 'CPU ms a token, all processes', log: true },
      figures,
      value: ({ cpuMs, at }) => cpuMs / at,
    })
  })

const bodySizes = (destination: BenchDestination) =>
  withService(destination, async ({ sidevault, key, ids }) => {
    const figures: (Figure & { readonly at: number })[] = []
    for (const kib of [1, 10, 100, 1_000, 8_000])
      for (const [name, type] of [
        ['JSON', 'application/json'],
        ['text', 'text/plain'],
      ] as const) {
        const filler = Array.from({ length: Math.max(1, (kib * 1024 - 100) / 64) }, () => 'x'.repeat(61))
        const body = JSON.stringify([use(ids[0] as string), ...filler])
        const kind = { name, requests: [proxied(destination, key, body, type)] }
        figures.push({ ...(await measure(sidevault, kind, kib >= 1_000 ? 2 : 8)), at: kib })
      }
    report('sizes', {
      title: 'CPU of a proxied request against the size of its body, one token in it',
      x: { label: 'KiB', log: true },
      y: { label: 'CPU ms a request, all processes', log: true },
      figures,
      value: ({ cpuMs }) => cpuMs,
    })
  })

const callsAtOnce = (destination: BenchDestination) =>
  withService(destination, async ({ sidevault, key, ids }) => {
    const headers = { ...JSON_BODY, 'svc-api-key': key }
    const kinds: Asked[] = [
      {
        name: 'proxy',
        requests: ids.map((id) => proxied(destination, key, JSON.stringify({ card: use(id) }))),
      },
      { name: 'read', requests: ids.map((id) => httpRequest('GET', `/tokens/${id}`, headers)) },
      { name: 'create', requests: [httpRequest('POST', '/tokens', headers, CARD)] },
    ]
    const figures: (Figure & { readonly at: number })[] = []
    for (const concurrency of [1, 2, 4, 8, 16, 32, 64, 128, 256])
      for (const kind of kinds)
        figures.push({ ...(await measure(sidevault, kind, concurrency)), at: concurrency })
    const x = { label: 'calls at once', log: true }
    report('concurrency', {
      title: 'Throughput against calls at once',
      x,
      y: { label: 'requests/s' },
      figures,
      value: ({ perSecond }) => perSecond,
    })
    report('latency', {
      title: 'Median latency against calls at once',
      x,
      y: { label: 'p50 ms', log: true },
      figures,
      value: ({ p50 }) => p50,
    })
  })

const manyProxies = (destination: BenchDestination) =>
  withService(destination, async ({ sidevault, ids }) => {
    const body = JSON.stringify({ card: use(ids[0] as string) })
    const requests: Buffer[] = []
    const figures: (Figure & { readonly at: number })[] = []
    const add = async (number: number) => {
      const application = await sidevault.application({ permissions: ['token:use'] })
      const proxy = await sidevault.call('POST', '/proxies', {
        key: sidevault.managementKey,
        body: { name: `proxy ${number}`, destination_url: destination.url },
      })
      const headers = { ...JSON_BODY, 'svc-api-key': application, 'svc-proxy-key': proxy.json.key }
      requests.push(httpRequest('POST', '/proxy/charge', headers, body))
    }
    for (const count of powers(1, Math.min(10_000, most))) {
      log(`  up to ${count.toLocaleString('en')} proxies and applications …`)
      while (requests.length < count)
        await Promise.all(
          Array.from({ length: Math.min(16, count - requests.length) }, (_, index) =>
            add(requests.length + index),
          ),
        )
      const figure = await measure(sidevault, { name: 'a proxy and application in turn', requests })
      figures.push({ ...figure, at: count })
      const memory = Object.entries(partsBelow(sidevault.pid)).map(
        ([name, pid]) => `${name} ${residentMiB(pid).toFixed(0)} MiB`,
      )
      log(`  ${memory.join(', ')}`)
    }
    report('proxies', {
      title: 'CPU of a call against proxies and applications that take turns (concurrency 8)',
      x: { label: 'proxies and applications', log: true },
      y: { label: 'CPU ms a call, all processes' },
      figures,
      value: ({ cpuMs }) => cpuMs,
    })
  })

const PARTS = {
  tokens: tokensPerBody,
  sizes: bodySizes,
  concurrency: callsAtOnce,
  proxies: manyProxies,
  stored: storedTokens,
}
const unknown = positionals.filter((name) => !(name in PARTS))
if (unknown.length > 0) throw new Error(`There is no part "${unknown[0]}"; there are ${Object.keys(PARTS)}.`)
const destination = await startDestination()
try {
  for (const [name, part] of Object.entries(PARTS)) {
    if (positionals.length > 0 && !positionals.includes(name)) continue
    log(`${name} …`)
    await part(destination)
  }
} finally {
  await destination.stop()
}
