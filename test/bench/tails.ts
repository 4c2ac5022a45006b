import {
  closeSync,
  fdatasyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { freePort, type Sidevault, startSidevault } from '../kit/sidevault.ts'
import { root } from '../kit/sources.ts'
import { checkout, spread } from './against.ts'
import { cpuUntilStored, UNTIL_STORED } from './cpu.ts'
import { type BenchDestination, startDestination } from './destination.ts'
import { httpRequest, type LoadResult, load, warm } from './load.ts'
import { allBelow, partsBelow } from './processes.ts'
import { bodyWith } from './proxy.ts'
import { table } from './report.ts'
import { explain, type TracedCall, type TraceLine, turnLine } from './writer-turns.ts'

interface Options {
  /** A commit that takes turns with this version. */
  readonly against: string | undefined
  /** Only cases that have one of these in their name (`caseName`). */
  readonly cases: readonly string[]
  /**
   * Starts of each version: one may be slower than the next by a sixth for as long as it runs. Each has one series of
   * each case; the best one counts, since other work on the machine only adds.
   */
  readonly starts: number
  /** Of one series. */
  readonly seconds: number
  readonly warmSeconds: number
}

const PATHS = ['direct', 'edge'] as const
/** Values of one `/tokenize`. */
const MANY = 20
/** ms from which a call is slow. */
const SLOW = 10
/** Numbered requests of a trace, sent in turn. */
const NUMBERED = 100_000
/** ms until the rows of the last calls are written. */
const SETTLE = 2_000

/**
 * Operations: a create without search indexes does the same work in each version, whatever indexes the type has by
 * default.
 */
const CASES = [
  { name: 'create', concurrency: 8, paths: PATHS },
  { name: 'create, indexed', concurrency: 8, paths: PATHS },
  { name: 'tokenize 20', concurrency: 1, paths: PATHS },
  { name: 'tokenize 20', concurrency: 8, paths: PATHS },
  { name: 'detokenize 20', concurrency: 32, paths: PATHS },
  { name: 'read', concurrency: 8, paths: PATHS },
  { name: 'proxied call', concurrency: 8, paths: ['edge'] },
] as const
/** Cases whose slow calls are explained, direct. */
const EXPLAINED: ReadonlySet<(typeof CASES)[number]> = new Set([CASES[0], CASES[2]])

const caseName = ({ name, concurrency }: (typeof CASES)[number], path: string): string =>
  `${name}, ${concurrency} at once, ${path}`

const isChosen = (
  cases: readonly string[],
  each: (typeof CASES)[number],
  path: (typeof PATHS)[number],
): boolean => cases.some((text) => caseName(each, path).includes(text))

interface System {
  readonly name: string
  readonly sidevault: Sidevault
  readonly ports: Readonly<Record<(typeof PATHS)[number], number>>
  /** The request of a case; with a number, one that the trace finds. */
  request(name: string, number?: number): Buffer
}

const startSystem = async (
  name: string,
  project: string,
  destination: Pick<BenchDestination, 'env' | 'url'>,
  env: Readonly<Record<string, string>> = {},
) => {
  const direct = await freePort()
  const sidevault = await startSidevault({
    project,
    env: {
      SIDEVAULT_API_LISTEN: `127.0.0.1:${direct}`,
      SIDEVAULT_LOG_LEVEL: 'warn',
      ...destination.env,
      ...env,
    },
  })
  const key = await sidevault.application({ permissions: ['token:create', 'token:read', 'token:use'] })
  const values = JSON.stringify(Array.from({ length: MANY }, (_, i) => `value ${i}`))
  const card = {
    type: 'card',
    data: { number: '4242424242424242', expiration_month: 1, expiration_year: 2031 },
  }
  const stored = await sidevault.call('POST', '/tokenize', { key, body: Array(MANY).fill(card.data.number) })
  const expressions = (stored.json as readonly string[]).map((id) => `{{ ${id} }}`)
  const calls: Readonly<Record<string, readonly [method: string, path: string, body?: string]>> = {
    create: ['POST', '/tokens', JSON.stringify({ ...card, search_indexes: [] })],
    'create, indexed': [
      'POST',
      '/tokens',
      JSON.stringify({ ...card, search_indexes: ['{{ data.number | last4 }}'] }),
    ],
    'tokenize 20': ['POST', '/tokenize', values],
    'detokenize 20': ['POST', '/detokenize', JSON.stringify(expressions)],
    read: ['GET', `/tokens/${stored.json[0]}`],
    'proxied call': ['POST', '/proxy/charge', bodyWith(expressions[0] ?? '', 1024)],
  }
  const request = (of: string, number?: number) => {
    const [method, path, body] = calls[of] ?? ['GET', '/']
    return httpRequest(
      method,
      path,
      {
        'content-type': 'application/json',
        'svc-api-key': key,
        ...(of === 'proxied call' ? { 'svc-proxy-url': destination.url } : {}),
        ...(number === undefined ? {} : { 'x-bench': String(number) }),
      },
      body,
    )
  }
  return { name, sidevault, ports: { direct, edge: sidevault.port }, request } satisfies System
}

interface Series extends LoadResult {
  /** CPU ms of all processes for a call, until the rows of the series are written. */
  readonly cpu: number
  /** Of which Envoy. */
  readonly envoy: number
}

const measure = async (system: System, name: string, port: number, concurrency: number, seconds: number) => {
  const requests = [system.request(name)]
  const { result, used } = await cpuUntilStored(system.sidevault, allBelow(system.sidevault.pid), () =>
    load({ host: '127.0.0.1', port, requests, concurrency, seconds }),
  )
  if (result.failures > 0) throw new Error(`${name}: ${result.failures} of ${result.requests} failed`)
  const cpu = Object.values(used).reduce((sum, each) => sum + each, 0)
  const ofCall = (seconds: number) => (seconds / result.requests) * 1000
  return {
    ...result,
    cpu: ofCall(cpu),
    envoy: ofCall(used[String(partsBelow(system.sidevault.pid).envoy)] ?? 0),
  } satisfies Series
}

/** A version of Sidevault. */
interface Version {
  readonly name: string
  readonly project: string
}

/** Series by case and path, then by the name of the version: one of each start. */
type Measured = Map<string, Map<string, Series[]>>

/** Starts all versions, and adds one series of each case, which they take in this order. */
const measureStart = async (
  versions: readonly Version[],
  destination: BenchDestination,
  { seconds, warmSeconds, cases }: Options,
  measured: Measured,
): Promise<void> => {
  const systems: System[] = []
  try {
    for (const { name, project } of versions) systems.push(await startSystem(name, project, destination))
    const warmed = new Set<string>()
    for (const each of CASES)
      for (const path of each.paths) {
        const key = caseName(each, path)
        if (!isChosen(cases, each, path)) continue
        const { name, concurrency } = each
        process.stderr.write(`${key} …\n`)
        for (const { ports, request } of warmed.has(name + path) ? [] : systems)
          await warm({
            host: '127.0.0.1',
            port: ports[path],
            requests: [request(name)],
            seconds: warmSeconds,
          })
        warmed.add(name + path)
        const byVersion = measured.get(key) ?? new Map<string, Series[]>()
        measured.set(key, byVersion)
        for (const system of systems) {
          const series = await measure(system, name, system.ports[path], concurrency, seconds)
          const { perSecond, p50, p99 } = series
          process.stderr.write(
            `  ${system.name}: ${perSecond.toFixed(0)}/s, p50 ${p50.toFixed(2)}, p99 ${p99.toFixed(2)} ms\n`,
          )
          byVersion.set(system.name, [...(byVersion.get(system.name) ?? []), series])
        }
      }
  } finally {
    for (const { sidevault } of systems) await sidevault.stop()
  }
}

const best = (series: readonly Series[], of: (each: Series) => number): number => Math.min(...series.map(of))

/** Median, lowest and highest of this version's figure over another's, start by start. */
const ratio = (series: readonly Series[], others: readonly Series[], of: (each: Series) => number): string =>
  spread(series.map((each, start) => of(each) / of(others[start] as Series)))

const figures = (versions: readonly Version[], measured: Measured): string => {
  const now = versions.at(-1)?.name ?? ''
  return table(
    [
      'operation, calls at once, path',
      'version',
      'calls/s',
      'p50 ms',
      'p99 ms',
      'p99 / p50',
      'CPU ms a call',
      'of which Envoy',
      'now: calls/s ×',
      'p50 ×',
    ],
    [...measured].flatMap(([key, byVersion]) =>
      versions.map(({ name }) => {
        const own = byVersion.get(name) ?? []
        const last = byVersion.get(now) ?? []
        return [
          key,
          name,
          Math.round(Math.max(...own.map(({ perSecond }) => perSecond))),
          best(own, ({ p50 }) => p50).toFixed(2),
          best(own, ({ p99 }) => p99).toFixed(2),
          best(own, ({ p99, p50 }) => p99 / p50).toFixed(1),
          best(own, ({ cpu }) => cpu).toFixed(2),
          best(own, ({ envoy }) => envoy).toFixed(2),
          name === now ? '' : ratio(last, own, ({ perSecond }) => perSecond),
          name === now ? '' : ratio(last, own, ({ p50 }) => p50),
        ]
      }),
    ),
  )
}

/** Id of the first token of a response. */
const firstToken = (content: Buffer): string =>
  /"id":"([^"]+)"|^\s*\["([^"]+)"/m
    .exec(content.toString('latin1', content.indexOf('\r\n\r\n') + 4))
    ?.slice(1)
    .find(Boolean) ?? ''

/** Why calls were slow: the same series on a service of its own, whose writer is traced. */
const explanations = async (
  { seconds, warmSeconds, cases }: Options,
  destination: BenchDestination,
): Promise<string> => {
  const chosen = CASES.filter((each) => EXPLAINED.has(each) && isChosen(cases, each, 'direct'))
  if (chosen.length === 0) return ''
  const folder = join(root, '.cache', 'bench')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'writer-turns.jsonl')
  rmSync(file, { force: true })
  const system = await startSystem('traced', root, destination, {
    BENCH_WRITER_TRACE: file,
    NODE_OPTIONS: `--import=${new URL('./writer-trace.ts', import.meta.url).href}`,
  })
  const text: string[] = []
  const offset = Number(process.hrtime.bigint()) / 1e6 - performance.now()
  try {
    for (const each of chosen) {
      const { name, concurrency } = each
      const port = system.ports.direct
      process.stderr.write(`${caseName(each, 'traced')} …\n`)
      await warm({ host: '127.0.0.1', port, requests: [system.request(name)], seconds: warmSeconds })
      await setTimeout(SETTLE)
      const calls: TracedCall[] = []
      const requests = Array.from({ length: NUMBERED }, (_, number) => system.request(name, number))
      const began = performance.now() + offset
      const { p50, p99 } = await load({
        ...{ host: '127.0.0.1', port, requests, concurrency, seconds, most: NUMBERED },
        onResponse: ({ number, sent, done, content }) =>
          calls.push({ number, sent: sent + offset, done: done + offset, token: firstToken(content) }),
      })
      await setTimeout(SETTLE)
      const lines = readFileSync(file, 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line): TraceLine => JSON.parse(line))
        .filter(
          (line) =>
            (line.kind === 'turn' ? line.sent : line.kind === 'call' ? line.arrived : line.from) > began,
        )
      const { slow, shares, largest, turns } = explain(lines, calls, SLOW)
      const percent = (share: number) => `${(share * 100).toFixed(1)} %`
      text.push(
        '',
        `${caseName(each, 'direct')}, traced: ${calls.length} calls, p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms; ${slow} calls took more than ${SLOW} ms, which waited for:`,
        '',
        table(
          ['cause', 'share of their time', 'calls of which it is the largest part'],
          shares.map(([cause, share]) => [cause, percent(share), largest.get(cause) ?? 0]),
        ),
        '',
        'The longest turns of the writer, ms:',
        '',
        ...turns.slice(0, 8).map((turn) => `- ${turnLine(turn)}`),
      )
    }
  } finally {
    await system.sidevault.stop()
  }
  return text.join('\n')
}

/** p50 and p99 in ms of an `fdatasync` of 4 KB at the end of a file. */
const syncTimes = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'sidevault-bench-'))
  try {
    const file = openSync(join(folder, 'file'), 'w')
    const times = Array.from({ length: 500 }, () => {
      writeSync(file, Buffer.alloc(4_096, 1))
      const began = performance.now()
      fdatasyncSync(file)
      return performance.now() - began
    }).sort((a, b) => a - b)
    closeSync(file)
    return `p50 ${times[250]?.toFixed(2)}, p99 ${times[495]?.toFixed(2)} ms`
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Slow calls on SQLite, beside those of a commit, and what those of the writer waited for. */
export const benchTails = async (options: Options): Promise<string> => {
  const text = [`fdatasync of 4 KB: ${syncTimes()}`, '']
  const other = options.against === undefined ? undefined : checkout(options.against)
  const destination = await startDestination()
  try {
    const versions: readonly Version[] = [
      ...(other === undefined ? [] : [{ name: other.sha, project: other.folder }]),
      { name: 'now', project: root },
    ]
    const measured: Measured = new Map()
    for (let start = 0; start < options.starts; start++) {
      const inOrder = start % 2 === 0 ? versions : versions.toReversed()
      process.stderr.write(`Start ${start + 1} of ${options.starts} …\n`)
      await measureStart(inOrder, destination, options, measured)
    }
    text.push(figures(versions, measured), '', UNTIL_STORED)
    text.push(await explanations(options, destination))
  } finally {
    await destination.stop()
    other?.remove()
  }
  return text.join('\n')
}
