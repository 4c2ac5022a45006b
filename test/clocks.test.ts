import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

/** Readings of a clock, of used CPU or of memory. */
const READING = /performance\.now|process\.(cpuUsage|hrtime|memoryUsage|resourceUsage)|Vm(RSS|HWM)|statm\b/
/** Times of day that are compared, or the time between two of them. */
const COMPARED = /Date\.now\(\)\s*([<>]|-\s*[a-z])|[^=]([<>]=?|-)\s*Date\.now\(\)/i

/** They read, and on no machine the reading decides whether `npm test` passes. */
const ALLOWED: Readonly<Record<string, string>> = {
  'test/clocks.test.ts': 'names the readings',
  'test/e2e/rate-limits.program.test.ts': 'allows one call more for each three seconds that went by',
  'test/e2e/replicas.program.test.ts': 'judges in the long run only',
  'test/envoy/transports.program.test.ts': 'judges in the long run only',
  'test/examples/plugins.program.test.ts': 'names a day',
  'test/common/gc-pressure.own.test.ts': 'waits until memory is freed',
  'test/gateway/checks.test.ts': 'code that takes 300 ms',
  'test/kernel/contribution-health.test.ts': 'code that takes 300 ms',
  'test/kernel/tasks/tasks.test.ts': 'code that takes 300 ms',
  'test/kit/envoy.ts': 'waits a minute',
  'test/kit/postgres.ts': 'waits a minute',
  'test/kit/sidevault.ts': 'waits two minutes',
  'test/kit/until.ts': 'waits a minute',
  'test/runner/run.ts': 'prints how long a check took',
  'test/sandbox/hostile/beside-neighbour.ts': 'judges in the long run only',
  'test/sandbox/kit.ts': 'hands a clock in',
  'test/sandbox/parent/pool.integration.test.ts': 'hands a clock in',
  'test/sandbox/realm/modules.integration.test.ts': 'looks at the shape of what is read',
  'test/sandbox/sandbox.integration.test.ts': 'code that takes 30 ms',
  'test/sandbox/supervision.integration.test.ts': 'code that takes a while',
  'test/sandbox/waiting-memory.integration.test.ts': 'code that holds memory for two seconds only',
  'test/vault/budget.test.ts': 'hands a clock in',
  'test/supervisor/start.ts': 'measures for the long run',
  'test/contract/store-resources.ts': 'the clock of a database beside ours',
}

const root = fileURLToPath(new URL('..', import.meta.url))
const compares = (text: string) => READING.test(text) || COMPARED.test(text)

t.test('no test of `npm test` depends on a clock, CPU or memory', async (t) => {
  const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .map((name) => `test/${name}`)
    .filter(
      (name) => name.endsWith('.ts') && !name.endsWith('.long.test.ts') && !name.startsWith('test/bench/'),
    )
  t.ok(files.length > 300)
  const reading = files.filter((name) => compares(readFileSync(join(root, name), 'utf8')))
  t.same(
    reading.filter((name) => !(name in ALLOWED)),
    [],
    'count statements, pages, calls, bytes or units; wait for what shall be; or make it a `*.long.test.ts`',
  )
  t.same(
    Object.keys(ALLOWED).filter((name) => !reading.includes(name)),
    [],
    'every entry of the list is used',
  )
})

t.test('the source scan finds comparisons of times, and ignores other reads of the clock', async (t) => {
  for (const text of ['t.ok(performance.now() - began < 5)', 'Date.now() - began', 'if (end > Date.now()) x'])
    t.ok(compares(text), text)
  for (const text of [
    'now: () => Date.now()',
    'Date.now() - 3_600',
    'new Date(Date.now() + HOUR)',
    'clock.now() - 1',
  ])
    t.notOk(compares(text), text)
})
