/**
 * Proxied calls beside consumers that throw, block or never resolve, and beside checks that hang, in turns. One service
 * has no plugin of others, one has the consumers, of which one misbehaves at a time, and one has the checks.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Sidevault, startSidevault } from '../kit/sidevault.ts'
import { median } from './against.ts'
import { startDestination } from './destination.ts'
import { httpRequest, type LoadResult, load, warm } from './load.ts'
import { bodyWith } from './proxy.ts'
import { table } from './report.ts'

interface TasksOptions {
  readonly rounds: number
  /** Of one measurement. */
  readonly seconds: number
  readonly warmSeconds: number
}

/** A consumer of this name misbehaves while the file `mode` has its name. */
const CONSUMERS = `
import { appendFileSync, readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
const is = (name) => readFileSync('FOLDER/mode', 'utf8') === name
const wait = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
const spin = (ms) => { for (const end = performance.now() + ms; performance.now() < end; ); }
const behaviors = {
  throws: async () => { throw new Error('broken') },
  blocks: async () => wait(2_000),
  computes: async () => spin(2_000),
  'never-resolves': async () => { while (is('never-resolves')) await setTimeout(100) },
}
export const plugin = {
  api: 1,
  name: 'consumers',
  version: '1.0.0',
  setup: () => ({
    consumers: Object.entries(behaviors).map(([name, handle]) => ({
      name,
      from: 'now',
      handle: async () => {
        if (!is(name)) return
        appendFileSync('FOLDER/ran', name + '\\n')
        await handle()
      },
    })),
  }),
}
`

/** Checks that never decide about calls of the proxies "open" and "closed". */
const CHECKS = `
const check = (fail) => ({
  name: fail,
  on: 'request',
  fail,
  timeout_ms: 250,
  handle: async ({ proxy }) => proxy?.name === fail ? new Promise(() => {}) : undefined,
})
export const plugin = {
  api: 1,
  name: 'checks',
  version: '1.0.0',
  setup: () => ({ checks: [check('open'), check('closed')] }),
}
`
const TIMEOUT_MS = 250

/** Calls of each hanging proxy at once, while others are measured. */
const HANGING = 2

interface Case {
  readonly name: string
  readonly system: 'nothing' | 'consumers' | 'checks'
  /** The consumer that misbehaves. */
  readonly mode?: string
}

const CASES: readonly Case[] = [
  { name: 'nothing installed', system: 'nothing' },
  { name: 'consumers that behave', system: 'consumers' },
  { name: 'one throws', system: 'consumers', mode: 'throws' },
  { name: 'one blocks its thread, 2 s at a time', system: 'consumers', mode: 'blocks' },
  { name: 'one computes, 2 s at a time', system: 'consumers', mode: 'computes' },
  { name: 'one never resolves', system: 'consumers', mode: 'never-resolves' },
  { name: 'checks that decide', system: 'checks' },
  { name: 'checks hang on other calls', system: 'checks', mode: 'hang' },
]
const CONCURRENCIES = [1, 8] as const

type Measured = Pick<LoadResult, 'p50' | 'p99' | 'perSecond'>

/** Throws when a call fails that awaits no hanging check. */
export const benchTasks = async ({ rounds, seconds, warmSeconds }: TasksOptions): Promise<string> => {
  const directory = mkdtempSync(join(tmpdir(), 'sidevault-bench-tasks-'))
  const file = (...path: readonly string[]) => join(directory, ...path)
  const plugin = (name: string, code: string) => {
    const folder = mkdtempSync(file(name))
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    writeFileSync(join(folder, 'index.js'), code.replaceAll('FOLDER', directory))
    return { SIDEVAULT_PLUGINS: `*,${folder}` }
  }
  const setMode = (mode: string) => writeFileSync(file('mode'), mode)
  setMode('')
  writeFileSync(file('ran'), '')
  const ran = (name: string) =>
    readFileSync(file('ran'), 'utf8')
      .split('\n')
      .filter((line) => line === name).length
  const destination = await startDestination()
  const started: Sidevault[] = []

  const start = async (env: Readonly<Record<string, string>>) => {
    const sidevault = await startSidevault({ env: { ...destination.env, ...env } })
    started.push(sidevault)
    const key = await sidevault.application({ permissions: ['token:create', 'token:use'] })
    const token = await sidevault.call('POST', '/tokens', { key, body: { data: '4242424242424242' } })
    const headers = { 'content-type': 'application/json', 'svc-api-key': key }
    const body = bodyWith(`{{ ${token.json.id} }}`, 1024)
    const through = async (name: string) => {
      const proxy = await sidevault.call('POST', '/proxies', {
        key: sidevault.managementKey,
        body: { name, destination_url: destination.url },
      })
      return httpRequest('POST', '/proxy/charge', { ...headers, 'svc-proxy-key': proxy.json.key }, body)
    }
    return {
      port: sidevault.port,
      request: await through('measured'),
      hanging: [await through('open'), await through('closed')],
    }
  }
  const run = (
    { port }: { readonly port: number },
    requests: readonly Buffer[],
    concurrency: number,
    seconds: number,
  ) => load({ host: '127.0.0.1', port, requests, concurrency, seconds })

  try {
    const systems = {
      nothing: await start({}),
      consumers: await start(plugin('consumers', CONSUMERS)),
      checks: await start(plugin('checks', CHECKS)),
    }
    for (const { port, request } of Object.values(systems))
      await warm({ host: '127.0.0.1', port, requests: [request], seconds: warmSeconds })

    const hung: LoadResult[] = []
    const samples = CASES.map(() => CONCURRENCIES.map((): Measured[] => []))
    for (let round = 0; round < rounds; round++) {
      process.stderr.write(`round ${round + 1} of ${rounds} …\n`)
      const order = round % 2 === 0 ? [...CASES.entries()] : [...CASES.entries()].reverse()
      for (const [index, { name, system, mode = '' }] of order) {
        const target = systems[system]
        setMode(mode)
        const before = ran(mode)
        // Until the consumers have what came before, and misbehave.
        await delay(1_500)
        const hanging =
          mode === 'hang'
            ? run(target, target.hanging, 2 * HANGING, seconds * CONCURRENCIES.length)
            : undefined
        for (const [at, concurrency] of CONCURRENCIES.entries()) {
          const result = await run(target, [target.request], concurrency, seconds)
          if (result.failures > 0) throw new Error(`${name}: ${result.failures} of ${result.requests} failed`)
          samples[index]?.[at]?.push(result)
        }
        if (hanging !== undefined) hung.push(await hanging)
        if (system === 'consumers' && mode !== '' && ran(mode) === before)
          throw new Error(`${name}: the consumer was not called`)
      }
    }
    const rows = CONCURRENCIES.flatMap((concurrency, at) =>
      CASES.map(({ name }, index) => {
        const [own, base] = [samples[index]?.[at] ?? [], samples[0]?.[at] ?? []]
        const middle = (member: keyof Measured) => median(own.map((sample) => sample[member]))
        const ratios = own.map(({ p99 }, round) => p99 / (base[round]?.p99 ?? Number.NaN))
        return [
          name,
          concurrency,
          Math.round(middle('perSecond')),
          middle('p50').toFixed(2),
          middle('p99').toFixed(2),
          `${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
        ]
      }),
    )
    const head = [
      'proxied calls beside',
      'concurrency',
      'calls/s',
      'p50 ms',
      'p99 ms',
      'p99 × nothing installed',
    ]
    const decided = `Calls that await a hanging check (timeout ${TIMEOUT_MS} ms): p50 ${median(hung.map(({ p50 }) => p50)).toFixed(0)}, p99 ${median(hung.map(({ p99 }) => p99)).toFixed(0)} ms, ${hung.reduce((sum, { requests }) => sum + requests, 0)} calls, ${hung.reduce((sum, { failures }) => sum + failures, 0)} rejected.`
    return `${table(head, rows)}\n\n${decided}`
  } finally {
    for (const sidevault of started) await sidevault.stop()
    await destination.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}
