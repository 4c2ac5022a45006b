/**
 * The gateway process alone: a service with everything on, whose gateway is asked on its own socket, without Envoy.
 * Each call has a body of 1 KB with one token.
 */
import { join } from 'node:path'
import { encodeRequest } from '../kit/ext-proc.ts'
import { startSidevault } from '../kit/sidevault.ts'
import { root } from '../kit/sources.ts'
import { checkout, median } from './against.ts'
import { INSPECTABLE, type Inspector, openInspector } from './collected.ts'
import { threadSeconds } from './cpu.ts'
import { type ExtProcCall, extProcLoad } from './ext-proc-load.ts'
import { partsBelow } from './processes.ts'
import { bodyWith } from './proxy.ts'
import { table } from './report.ts'

interface GatewayOptions {
  /** A commit of this repository to compare with, in turns. */
  readonly against?: string | undefined
  readonly rounds: number
  /** Of one measurement. */
  readonly seconds: number
  readonly concurrencies: readonly number[]
}

/** Of one call: µs of CPU and KiB. */
interface Cost {
  readonly perSecond: number
  readonly main: number
  readonly helpers: number
  /** Of `main`: garbage collection. */
  readonly collecting: number
  /** Allocated on V8's heap. */
  readonly kib: number
}

interface GatewayFigures extends Cost {
  readonly version: string
  readonly concurrency: number
  /** The lowest and the highest CPU of a call in a round. */
  readonly spread: readonly [number, number]
}

/** Calls until V8 has compiled what a call runs. */
const WARM = 40_000
const TOKENS = 64
const NUMBER = '4242424242424242'

/** Headers as Envoy hands them on. */
const headersOf = (key: string, length: number) => ({
  ':method': 'POST',
  ':path': '/proxy/charge',
  ':authority': 'vault.example',
  ':scheme': 'https',
  'user-agent': 'bench/1.0',
  accept: '*/*',
  'accept-encoding': 'gzip, deflate',
  'content-type': 'application/json',
  'content-length': String(length),
  'svc-api-key': key,
  'svc-proxy-url': 'https://api.payments.example/v1',
  'x-forwarded-proto': 'https',
  'x-request-id': '0fb4b8a6-6a3e-4f4e-9a3f-1f1b5f0f6d5e',
  'x-sidevault-client-address': '127.0.0.1',
})

const callOf = (key: string, id: string): ExtProcCall => {
  const body = Buffer.from(bodyWith(`{{ ${id} | json: '$.number' }}`, 1024))
  const headers = Object.entries(headersOf(key, body.length)).map(([name, value]) => ({
    key: name,
    raw_value: Buffer.from(value),
  }))
  return {
    head: encodeRequest({
      request_headers: { headers: { headers }, end_of_stream: false },
      protocol_config: { request_body_mode: 'BUFFERED' },
    }),
    body: encodeRequest({ request_body: { body, end_of_stream: true } }),
    expected: Buffer.from(`"card":"${NUMBER}"`),
  }
}

/**
 * Bytes that were allocated between two moments: by how much the young generation grew from one collection to the next.
 * Objects that V8 allocates in the old space at once, and buffers outside its heap, are not in it.
 */
const WATCH = `(() => {
  const { GCProfiler, getHeapSpaceStatistics } = process.getBuiltinModule('node:v8')
  const young = (spaces) => spaces
    .filter(({ spaceName, space_name = spaceName }) => space_name === 'new_space' || space_name === 'new_large_object_space')
    .reduce((sum, { spaceUsedSize, space_used_size = spaceUsedSize }) => sum + space_used_size, 0)
  const profiler = new GCProfiler()
  const first = young(getHeapSpaceStatistics())
  profiler.start()
  globalThis.endOfWatch = () => {
    const { statistics } = profiler.stop()
    let bytes = 0
    let last = first
    let micros = 0
    for (const { cost, beforeGC, afterGC } of statistics) {
      bytes += Math.max(0, young(beforeGC.heapSpaceStatistics) - last)
      last = young(afterGC.heapSpaceStatistics)
      micros += cost
    }
    return { bytes: bytes + Math.max(0, young(getHeapSpaceStatistics()) - last), micros }
  }
  return true
})()`

interface Target {
  readonly version: string
  readonly pid: number
  readonly socketPath: string
  readonly calls: readonly ExtProcCall[]
  readonly inspector: Inspector
  stop(): Promise<unknown>
}

const startTarget = async (version: string, project: string): Promise<Target> => {
  const sidevault = await startSidevault({ env: INSPECTABLE, project })
  const key = await sidevault.application({ permissions: ['token:create', 'token:use'] })
  const calls: ExtProcCall[] = []
  for (let i = 0; i < TOKENS; i++) {
    const data = { number: NUMBER, expiration_month: 1, expiration_year: 2031 }
    const token = await sidevault.call('POST', '/tokens', { key, body: { type: 'card', data } })
    calls.push(callOf(key, token.json.id))
  }
  const { gateway } = partsBelow(sidevault.pid)
  if (gateway === undefined) throw new Error('the service has no gateway process')
  return {
    version,
    pid: gateway,
    socketPath: join(sidevault.dataDir, 'run', 'gateway-0.sock'),
    calls,
    inspector: await openInspector(gateway),
    stop: () => sidevault.stop(),
  }
}

const measure = async (target: Target, concurrency: number, seconds: number): Promise<Cost> => {
  const { pid, socketPath, calls, inspector } = target
  await inspector.evaluate(WATCH)
  const before = threadSeconds(pid)
  const result = await extProcLoad({ socketPath, calls, concurrency, seconds })
  const after = threadSeconds(pid)
  const garbage = await inspector.evaluate<{ readonly bytes: number; readonly micros: number }>(
    'endOfWatch()',
  )
  if (result.failures > 0)
    throw new Error(`${target.version}: ${result.failures} of ${result.calls} calls failed`)
  return {
    perSecond: result.calls / result.seconds,
    main: ((after.main - before.main) * 1e6) / result.calls,
    helpers: ((after.helpers - before.helpers) * 1e6) / result.calls,
    collecting: garbage.micros / result.calls,
    kib: garbage.bytes / 1024 / result.calls,
  }
}

/** Throws when a call fails. */
export const benchGateway = async (options: GatewayOptions): Promise<readonly GatewayFigures[]> => {
  const other = options.against === undefined ? undefined : checkout(options.against)
  const targets: Target[] = []
  try {
    if (other !== undefined) targets.push(await startTarget(other.sha, other.folder))
    targets.push(await startTarget('now', root))
    for (const { socketPath, calls } of targets)
      await extProcLoad({ socketPath, calls, concurrency: 8, seconds: 60, most: WARM })
    const figures: GatewayFigures[] = []
    for (const concurrency of options.concurrencies) {
      const rounds = targets.map(() => [] as Cost[])
      for (let round = 0; round < options.rounds; round++)
        for (const at of round % 2 === 0 ? targets.keys() : [...targets.keys()].reverse())
          rounds[at]?.push(await measure(targets[at] as Target, concurrency, options.seconds))
      for (const [at, costs] of rounds.entries()) {
        const middle = (member: keyof Cost) => median(costs.map((cost) => cost[member]))
        const sums = costs.map(({ main, helpers }) => main + helpers)
        figures.push({
          version: targets[at]?.version ?? '',
          concurrency,
          perSecond: middle('perSecond'),
          main: middle('main'),
          helpers: middle('helpers'),
          collecting: middle('collecting'),
          kib: middle('kib'),
          spread: [Math.min(...sums), Math.max(...sums)],
        })
      }
    }
    return figures
  } finally {
    for (const target of targets) {
      target.inspector.close()
      await target.stop()
    }
    other?.remove()
  }
}

export const gatewayTable = (figures: readonly GatewayFigures[]): string =>
  table(
    [
      'version',
      'concurrency',
      'calls/s',
      'CPU µs a call',
      'lowest to highest',
      'main thread',
      'helpers',
      'main thread: GC',
      'KiB a call',
    ],
    figures.map(({ version, concurrency, perSecond, main, helpers, collecting, kib, spread }) => [
      version,
      concurrency,
      Math.round(perSecond),
      (main + helpers).toFixed(0),
      spread.map((value) => value.toFixed(0)).join(' to '),
      main.toFixed(0),
      helpers.toFixed(0),
      collecting.toFixed(1),
      kib.toFixed(1),
    ]),
  )
