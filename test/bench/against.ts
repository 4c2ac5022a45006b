import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type Sidevault, startSidevault } from '../kit/sidevault.ts'
import { root } from '../kit/sources.ts'
import { cpuUntilStored, proportionalMiB, UNTIL_STORED } from './cpu.ts'
import { startDestination } from './destination.ts'
import { httpRequest, load, warm } from './load.ts'
import { allBelow } from './processes.ts'
import { bodyWith, EDIT } from './proxy.ts'
import { table } from './report.ts'

interface AgainstOptions {
  /** A commit of this repository. */
  readonly commit: string
  /** Texts, one of which the name of a measured operation has. */
  readonly cases: readonly string[]
  readonly rounds: number
  /** Of one measurement. */
  readonly seconds: number
  readonly warmSeconds: number
}

interface Case {
  readonly name: string
  readonly concurrencies: readonly number[]
  readonly requests: readonly Buffer[]
}

/** A measured stretch. */
interface Sample {
  readonly perSecond: number
  readonly p50: number
  /** CPU seconds of all processes for 1,000 requests. */
  readonly cpu: number
}

/** Figures of one version beside the other; ratios are this version's figure over the commit's, by round. */
interface Comparison {
  readonly name: string
  readonly concurrency: number
  readonly before: Sample
  readonly after: Sample
  readonly rate: readonly number[]
  readonly cpu: readonly number[]
  readonly p50: readonly number[]
}

/** ms until all processes of a system have started. */
const SETTLE = 10_000

const CARD = { number: '4242424242424242', expiration_month: 1, expiration_year: 2031 }

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN
}

/**
 * A checkout of `commit` in the cache folder, removed by `remove`. It shares the packages, or installs others at its
 * first start.
 */
export const checkout = (commit: string) => {
  const git = (...args: readonly string[]) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  const sha = git('rev-parse', '--short', `${commit}^{commit}`)
  const folder = join(root, '.cache', 'bench', sha)
  const remove = () => {
    rmSync(folder, { recursive: true, force: true })
    git('worktree', 'prune')
  }
  if (existsSync(folder)) remove()
  mkdirSync(join(root, '.cache', 'bench'), { recursive: true })
  git('worktree', 'add', '--quiet', '--detach', folder, sha)
  const lock = (project: string) => {
    const { packages } = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8'))
    return JSON.stringify({ ...packages, '': undefined })
  }
  if (lock(folder) === lock(root)) symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return { sha, folder, remove }
}

const casesOf = async (sidevault: Sidevault, destination: string): Promise<readonly Case[]> => {
  const permissions = ['token:create', 'token:read', 'token:use']
  const key = await sidevault.application({ permissions })
  const json = { 'content-type': 'application/json', 'svc-api-key': key }
  const created = async (path: string, body: unknown, as = key) => {
    const response = await sidevault.call('POST', path, { key: as, body })
    if (response.status >= 300) throw new Error(`${path}: ${response.status} ${response.text}`)
    return response.json
  }
  const card = { type: 'card', data: CARD }
  const ids: string[] = []
  for (let i = 0; i < 200; i++) ids.push((await created('/tokens', card)).id)
  const expression = `{{ ${ids[0]} | json: '$.number' }}`
  const body = bodyWith(expression, 1024)
  const proxy = {
    name: 'bench',
    destination_url: destination,
    request_transform: { code: EDIT },
  }
  const { key: proxyKey } = await created('/proxies', proxy, sidevault.managementKey)
  const twenty = JSON.stringify(Array.from({ length: 20 }, (_, i) => `value ${i}`))
  const expressions = JSON.stringify(ids.slice(0, 20).map((id) => `{{ ${id} | json: '$.number' }}`))
  const post = (path: string, headers: Readonly<Record<string, string>>, text: string) => [
    httpRequest('POST', path, headers, text),
  ]
  return [
    {
      name: 'proxy, one token',
      concurrencies: [1, 8, 32],
      requests: post('/proxy/charge', { ...json, 'svc-proxy-url': destination }, body),
    },
    {
      name: 'proxy with a transform',
      concurrencies: [1, 8],
      requests: post('/proxy/charge', { ...json, 'svc-proxy-key': proxyKey }, body),
    },
    {
      name: 'read',
      concurrencies: [1, 8, 32],
      requests: ids.map((id) => httpRequest('GET', `/tokens/${id}`, json)),
    },
    { name: 'create', concurrencies: [1, 8, 32], requests: post('/tokens', json, JSON.stringify(card)) },
    { name: 'tokenize 20', concurrencies: [8], requests: post('/tokenize', json, twenty) },
    { name: 'detokenize 20', concurrencies: [8], requests: post('/detokenize', json, expressions) },
  ]
}

/**
 * This version beside a commit: both run at once, and take turns in being asked. A ratio belongs to one round, so that
 * the machine's changes of pace meet both. Throws when a request fails.
 */
const benchAgainst = async (options: AgainstOptions) => {
  const { sha, folder, remove } = checkout(options.commit)
  const destination = await startDestination()
  const systems: Sidevault[] = []
  try {
    process.stderr.write(`${sha}: installing and starting …\n`)
    for (const project of [folder, root])
      systems.push(await startSidevault({ env: destination.env, project }))
    const [before, after] = systems as [Sidevault, Sidevault]
    const all = await Promise.all(systems.map((sidevault) => casesOf(sidevault, destination.url)))
    const cases = all.map((of) => of.filter(({ name }) => options.cases.some((text) => name.includes(text))))

    // Code is made ready after readiness.
    await setTimeout(SETTLE)
    const idle = systems.map(({ pid }) =>
      Object.values(allBelow(pid)).reduce((sum, child) => sum + proportionalMiB(child), 0),
    )

    const measure = async (sidevault: Sidevault, { name, requests }: Case, concurrency: number) => {
      const { port, pid } = sidevault
      const { result, used } = await cpuUntilStored(sidevault, allBelow(pid), () =>
        load({ host: '127.0.0.1', port, requests, concurrency, seconds: options.seconds }),
      )
      if (result.failures > 0) throw new Error(`${name}: ${result.failures} of ${result.requests} failed`)
      const seconds = Object.values(used).reduce((sum, each) => sum + each, 0)
      return { perSecond: result.perSecond, p50: result.p50, cpu: (seconds / result.requests) * 1000 }
    }

    const comparisons: Comparison[] = []
    for (const [index, old] of (cases[0] ?? []).entries()) {
      const own = cases[1]?.[index] as Case
      process.stderr.write(`${own.name} …\n`)
      for (const [sidevault, { requests }] of [[before, old] as const, [after, own] as const])
        await warm({ host: '127.0.0.1', port: sidevault.port, requests, seconds: options.warmSeconds })
      for (const concurrency of own.concurrencies) {
        const pairs: (readonly [before: Sample, after: Sample])[] = []
        for (let round = 0; round < options.rounds; round++) {
          // Each goes first in every other round.
          const first = round % 2 === 0
          const earlier = first ? await measure(before, old, concurrency) : undefined
          const later = await measure(after, own, concurrency)
          pairs.push([earlier ?? (await measure(before, old, concurrency)), later])
        }
        const middle = (which: 0 | 1): Sample => ({
          perSecond: median(pairs.map((pair) => pair[which].perSecond)),
          p50: median(pairs.map((pair) => pair[which].p50)),
          cpu: median(pairs.map((pair) => pair[which].cpu)),
        })
        const ratios = (member: keyof Sample) => pairs.map(([a, b]) => b[member] / a[member])
        comparisons.push({
          name: own.name,
          concurrency,
          before: middle(0),
          after: middle(1),
          rate: ratios('perSecond'),
          cpu: ratios('cpu'),
          p50: ratios('p50'),
        })
      }
    }
    return { sha, idle: { before: idle[0] ?? 0, after: idle[1] ?? 0 }, comparisons }
  } finally {
    for (const sidevault of systems) await sidevault.stop()
    await destination.stop()
    remove()
  }
}

/** Median, lowest and highest. */
export const spread = (ratios: readonly number[]): string =>
  `${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`

/** Prints the comparison. Returns the cases whose CPU ratio (median) is above `limit`. */
export const reportAgainst = async (options: AgainstOptions, limit: number): Promise<readonly string[]> => {
  const { sha, idle, comparisons } = await benchAgainst(options)
  process.stdout.write(
    `${table(
      [
        'operation',
        'concurrency',
        `requests/s: ${sha} → now`,
        'ratio',
        `CPU s per 1,000: ${sha} → now`,
        'ratio',
        'p50: ratio',
      ],
      comparisons.map(({ name, concurrency, before, after, rate, cpu, p50 }) => [
        name,
        concurrency,
        `${Math.round(before.perSecond)} → ${Math.round(after.perSecond)}`,
        spread(rate),
        `${before.cpu.toFixed(3)} → ${after.cpu.toFixed(3)}`,
        spread(cpu),
        spread(p50),
      ]),
    )}\n\n${UNTIL_STORED}\n\nProportional memory when idle: ${idle.before.toFixed(0)} → ${idle.after.toFixed(0)} MiB\n`,
  )
  return comparisons
    .filter(({ cpu }) => median(cpu) > limit)
    .map(({ name, concurrency, cpu }) => `${name} at ${concurrency}: CPU × ${median(cpu).toFixed(2)}`)
}
