import { cpus, release } from 'node:os'
import { parseArgs } from 'node:util'
import { reportAgainst } from './against.ts'
import { type ApiFigures, benchApi } from './api.ts'
import { benchApiPaths } from './api-paths.ts'
import { benchBystanders } from './bystanders.ts'
import { UNTIL_STORED } from './cpu.ts'
import { benchEnvoyShare } from './envoy-share.ts'
import { benchFirst } from './first.ts'
import { benchGateway, gatewayTable } from './gateway.ts'
import { benchGrowth } from './growth.ts'
import { benchGuard } from './guard.ts'
import { benchProxy, type ProxyFigures } from './proxy.ts'
import { bars, table } from './report.ts'
import { benchSandbox } from './sandbox.ts'
import { benchTails } from './tails.ts'
import { benchTasks } from './tasks.ts'
import { benchTunnel } from './tunnel.ts'

/**
 * `npm run bench [-- --quick]` prints Markdown tables; method and last results: test/bench/README.md.
 * `npm run bench -- --against <commit> [--fail-above <ratio>] [--case <text>] [--quick]` compares with a commit, in
 * operations with this text in their name; `--case` may be repeated.
 * `npm run bench -- api [--quick]` measures the management API at the edge and on the direct listener, beside bare
 * Fastify.
 * `npm run bench -- tunnel [--quick]` measures the forward proxy beside `/proxy`.
 * `npm run bench -- gateway [--against <commit>] [--quick]` measures the gateway process alone.
 * `npm run bench -- guard [--quick]` measures what the response guard costs.
 * `npm run bench -- envoy-share [--quick]` measures what each part of Envoy's configuration costs.
 * `npm run bench -- proxy [--quick]` measures proxied calls only.
 * `npm run bench -- console [--against <commit>] [--quick]` measures how long a person waits for the console's screens.
 * `npm run bench -- tails [--against <commit>] [--case <text>] [--starts <number>] [--quick]` measures the slowest
 * creates and `/tokenize`, and says why. `--case`, which may be repeated: only cases with this text in their name.
 * `npm run bench -- slow [--against <commit>] [--quick]` measures all that users wait for: `tails`, then `first`.
 * `npm run bench -- tasks [--quick]` measures proxied calls beside consumers and checks of plugins that misbehave.
 * `npm run bench -- first [--against <commit>] [--quick]` measures the first calls after a start.
 * `npm run bench -- growth [--quick]` measures creates and reads among 10⁶ tokens (`--quick`: 10⁵) beside 10⁴.
 */
const {
  values: { quick, against, case: cases, ...options },
  positionals: [part],
} = parseArgs({
  args: process.argv.slice(process.argv.indexOf('bench') + 1),
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    against: { type: 'string' },
    case: { type: 'string', multiple: true, default: [''] },
    starts: { type: 'string', default: '2' },
    'fail-above': { type: 'string', default: 'Infinity' },
  },
})
const log = (text: string) => process.stderr.write(`${text}\n`)

const PARTS = [
  'proxy',
  'guard',
  'api',
  'gateway',
  'tunnel',
  'growth',
  'console',
  'tails',
  'slow',
  'envoy-share',
  'first',
  'tasks',
]
if (part !== undefined && !PARTS.includes(part)) {
  log(`There is no part "${part}". Name one of ${PARTS.join(', ')}, or none for all of test/bench/README.md.`)
  process.exit(2)
}

if (part === 'gateway') {
  const rounds = quick ? { rounds: 3, seconds: 2 } : { rounds: 7, seconds: 3 }
  const figures = await benchGateway({ against, ...rounds, concurrencies: [1, 8, 32] })
  const note =
    'CPU of the gateway process alone: the ingest of its audit records, in the admin process, is not in it.'
  process.stdout.write(`${gatewayTable(figures)}\n\n${note}\n`)
  process.exit(0)
}

if (part === 'envoy-share') {
  const rounds = quick
    ? { rounds: 5, seconds: 0.1, warmSeconds: 0.5 }
    : { rounds: 15, seconds: 0.2, warmSeconds: 1 }
  process.stdout.write(`${await benchEnvoyShare(rounds)}\n`)
  process.exit(0)
}

if (part === 'tunnel') {
  const rounds = quick
    ? { rounds: 3, seconds: 2, warmSeconds: 5 }
    : { rounds: 7, seconds: 4, warmSeconds: 20 }
  process.stdout.write(`${await benchTunnel({ ...rounds, connections: 8 })}\n`)
  process.exit(0)
}

if (part === 'guard') {
  const rounds = quick
    ? { rounds: 5, seconds: 2, warmSeconds: 4 }
    : { rounds: 9, seconds: 4, warmSeconds: 15 }
  process.stdout.write(`${await benchGuard(rounds)}\n`)
  process.exit(0)
}

if (part === 'tails' || part === 'slow') {
  const rounds = quick ? { seconds: 5, warmSeconds: 6 } : { seconds: 12, warmSeconds: 15 }
  const starts = Number(options.starts)
  if (!(starts >= 1)) {
    log('--starts must be a number from 1.')
    process.exit(2)
  }
  process.stdout.write(`${await benchTails({ against, cases, starts, ...rounds })}\n`)
  if (part === 'slow') process.stdout.write(`\n${await benchFirst({ against, starts: quick ? 2 : 8 })}\n`)
  process.exit(0)
}

if (part === 'tasks') {
  const rounds = quick
    ? { rounds: 4, seconds: 2, warmSeconds: 5 }
    : { rounds: 7, seconds: 4, warmSeconds: 15 }
  process.stdout.write(`${await benchTasks(rounds)}\n`)
  process.exit(0)
}

if (part === 'first') {
  process.stdout.write(`${await benchFirst({ against, starts: quick ? 2 : 8 })}\n`)
  process.exit(0)
}

if (part === 'growth') {
  const rounds = quick
    ? { rounds: 5, seconds: 2, warmSeconds: 8 }
    : { rounds: 9, seconds: 4, warmSeconds: 20 }
  process.stdout.write(`${await benchGrowth({ sizes: [10_000, quick ? 100_000 : 1_000_000], ...rounds })}\n`)
  process.exit(0)
}

if (part === 'console') {
  // Chromium's helper imports tap, which would end the bench.
  process.env.TAP_TIMEOUT = '0'
  const { benchConsole } = await import('./console.ts')
  process.stdout.write(`${await benchConsole({ against, rounds: quick ? 3 : 7 })}\n`)
  process.exit(0)
}

if (part === 'api') {
  const rounds = quick
    ? { rounds: 3, seconds: 2, warmSeconds: 15 }
    : { rounds: 7, seconds: 3, warmSeconds: 30 }
  process.stdout.write(`${await benchApiPaths({ ...rounds, concurrencies: quick ? [8] : [1, 8, 32] })}\n`)
  process.exit(0)
}

if (against !== undefined) {
  const rounds = quick
    ? { rounds: 3, seconds: 2, warmSeconds: 5 }
    : { rounds: 7, seconds: 4, warmSeconds: 30 }
  const worse = await reportAgainst({ commit: against, cases, ...rounds }, Number(options['fail-above']))
  for (const text of worse) log(`Worse than --fail-above: ${text}`)
  process.exit(worse.length === 0 ? 0 : 1)
}

const fixed = (digits: number) => (value: number) => value.toFixed(digits)
const whole = (value: number) => Math.round(value).toLocaleString('en')

log('Proxy: six targets, interleaved …')
const warmSeconds = quick ? 2 : 30
const proxy = await benchProxy({
  warmSeconds,
  seconds: quick ? 2 : 5,
  rounds: quick ? 1 : 3,
  concurrencies: [1, 8, 32],
})
const atOne = new Map(
  proxy.figures
    .filter(({ concurrency }) => concurrency === 1)
    .map(({ target, p50 }) => [target.slice(0, 1), p50]),
)
/** p50 in ms that one target adds to another. */
const added = (target: string, base: string) =>
  `${target} over ${base} ${fixed(2)((atOne.get(target) ?? Number.NaN) - (atOne.get(base) ?? Number.NaN))}`

/** CPU seconds per 1,000 of all processes. */
const total = (figure?: Pick<ApiFigures, 'cpu'>): number =>
  Object.values(figure?.cpu ?? {}).reduce((sum, value) => sum + value, 0)
const measures = ['requests/s', 'p50 ms', 'p99 ms', 'CPU s per 1,000', 'of which']
const measured = ({ perSecond, p50, p99, cpu }: Pick<ApiFigures, 'perSecond' | 'p50' | 'p99' | 'cpu'>) => [
  whole(perSecond),
  fixed(2)(p50),
  fixed(2)(p99),
  fixed(3)(total({ cpu })),
  Object.entries(cpu)
    .filter(([, value]) => value >= 0.01)
    .map(([name, value]) => `${name} ${fixed(3)(value)}`)
    .join(', '),
]

/** CPU and p50 of a target as multiples of those of (b); docs/performance.md, "Aims". */
const timesNoOp = (figure: ProxyFigures): readonly [cpu: number, p50: number] => {
  const noOp = proxy.figures.find(
    ({ target, concurrency }) => target.startsWith('b') && concurrency === figure.concurrency,
  )
  return [total(figure) / total(noOp), figure.p50 / (noOp?.p50 ?? Number.NaN)]
}
const proxyTables = [
  table(
    ['target', 'concurrency', ...measures, 'CPU × b', 'p50 × b', 'failed'],
    proxy.figures.map((figure) => [
      figure.target,
      figure.concurrency,
      ...measured(figure),
      ...timesNoOp(figure).map(fixed(2)),
      figure.failures,
    ]),
  ),
  '',
  'CPU of a call, times that of (b):',
  '',
  bars(
    proxy.figures.map((figure) => ({
      label: `${figure.target}, ${figure.concurrency}`,
      value: timesNoOp(figure)[0],
    })),
  ),
  '',
  `p50 added at concurrency 1, ms: ${[added('c', 'a'), added('e', 'd'), added('f', 'd')].join(', ')}`,
  '',
  UNTIL_STORED,
  '',
]
if (part === 'proxy') {
  process.stdout.write(proxyTables.join('\n'))
  process.exit(0)
}

log('API: filling and measuring …')
const api = await benchApi({
  sizes: quick ? [10_000] : [10_000, 1_000_000],
  warmSeconds,
  seconds: quick ? 2 : 4,
  concurrencies: [8, 32],
})
log('Sandbox: transforms without Envoy …')
const sandbox = await benchSandbox({ seconds: quick ? 2 : 5, concurrencies: [1, 8], programs: 1_000 })
log('Bystanders: a good program beside hostile ones …')
const bystanders = await benchBystanders({ seconds: quick ? 10 : 60, perSecond: 300 })

process.stdout.write(
  [
    `${cpus().length} × ${cpus()[0]?.model.trim()}, Linux ${release()}, Node ${process.version}`,
    '',
    ...proxyTables,
    `Resident memory after it: ${Object.entries(proxy.memory)
      .map(([name, value]) => `${name} ${whole(value)} MiB`)
      .join(', ')}`,
    '',
    table(
      ['target', 'tokens stored', 'operation', 'concurrency', ...measures],
      api.figures.map((figure) => [
        figure.target,
        whole(figure.tokens),
        figure.operation,
        figure.concurrency,
        ...measured(figure),
      ]),
    ),
    '',
    UNTIL_STORED,
    '',
    table(
      ['/tokenize in hundreds, up to', 'tokens/s'],
      api.bulk.map((row) => [whole(row.tokens), whole(row.perSecond)]),
    ),
    '',
    table(
      ['transform', 'concurrency', 'invocations/s', 'p50 ms', 'p99 ms', 'CPU ms: children', 'service'],
      sandbox.invocations.map((figure) => [
        figure.name,
        figure.concurrency,
        whole(figure.perSecond),
        fixed(2)(figure.p50),
        fixed(2)(figure.p99),
        fixed(2)(figure.childrenCpu),
        fixed(2)(figure.parentCpu),
      ]),
    ),
    '',
    `First call after a save: ${fixed(1)(sandbox.firstCall.p50)} ms, at worst ${fixed(1)(sandbox.firstCall.worst)} ms; ${fixed(2)(sandbox.memoryPerProgram)} MiB for each program that is ready`,
    '',
    `${whole(bystanders.calls)} calls, ${bystanders.perSecond} a second, beside ${bystanders.hostile} hostile ones that ended ${bystanders.killed} children: failed ${JSON.stringify(bystanders.failed)}; p50 ${fixed(2)(bystanders.p50)}, p99 ${fixed(2)(bystanders.p99)}, at worst ${fixed(0)(bystanders.worst)} ms from when they were due`,
    '',
  ].join('\n'),
)
