import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, relative, sep } from 'node:path'

/** @typedef {{ name: string, file: string, args: string[], env?: Record<string, string> }} Job */
/** @typedef {{ passed: number, failed: number, skipped: number, output: string, seconds: number }} Outcome */

/** A file that takes longer is stuck. */
const LIMIT = 300_000

/** These start whole programs; begun first, they do not leave one job running alone at the end. */
const SLOW = [
  'test/faults',
  'test/supervisor',
  'test/e2e',
  'test/invariants',
  'test/bin',
  'test/commands',
  'test/examples',
]

/**
 * So many files that failed beside others are run once more, alone, at the end: clocks and limits are part of what they
 * judge. Those that then pass are named; more than that are no accident.
 */
const SECOND_CHANCES = 4

/** Before a test file is loaded: what makes loading it cheaper. */
const QUICK = ['--import', new URL('./quick-resolve.js', import.meta.url).href]

/** These judge the clock; nothing runs beside them. */
const ALONE = ['test/store/sqlite/cost.test.ts', 'test/supervisor/timing.test.ts']

/**
 * Counts the tests of a TAP stream (https://testanything.org): the points at its outermost level.
 * @param {string} tap
 */
export const countTap = (tap) => {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  for (const line of tap.split('\n')) {
    const point = /^(not )?ok\b(.*)$/.exec(line)
    if (!point) continue
    if (/# (skip|todo)/i.test(point[2] ?? '')) counts.skipped++
    else if (point[1]) counts.failed++
    else counts.passed++
  }
  return counts
}

/**
 * What did not run, with its reason.
 * @param {string} tap
 */
const skippedPoints = (tap) =>
  tap.split('\n').flatMap((line) => /^ok\s+\d+\s+-?\s*(.*# skip.*)$/i.exec(line)?.[1] ?? [])

/**
 * @param {string} root
 * @param {Job} job
 * @returns {Promise<Outcome>}
 */
const perform = (root, { file, args, env }) =>
  new Promise((resolve) => {
    const began = Date.now()
    let stdout = ''
    let stderr = ''
    const child = spawn(file, args, {
      cwd: root,
      env: {
        ...process.env,
        XDG_CACHE_HOME: join(root, '.cache'),
        TAP_TIMEOUT: '240',
        NODE_COMPILE_CACHE: join(root, '.cache', 'compiled'),
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const limit = setTimeout(() => child.kill('SIGKILL'), LIMIT)
    child.stdout.on('data', (chunk) => {
      stdout += chunk
    })
    child.stderr.on('data', (chunk) => {
      stderr += chunk
    })
    child.on('error', (error) => {
      stderr += error.message
    })
    child.on('close', (code, signal) => {
      clearTimeout(limit)
      const isTest = args.at(-1)?.endsWith('.test.ts')
      const counts = isTest ? countTap(stdout) : { passed: 0, failed: 0, skipped: 0 }
      if (code !== 0 && counts.failed === 0) counts.failed = 1
      if (code === 0 && counts.passed + counts.failed + counts.skipped === 0) {
        if (isTest) counts.failed = 1
        else counts.passed = 1
      }
      const end = signal ? `\nended by ${signal}` : ''
      resolve({ ...counts, output: stdout + stderr + end, seconds: (Date.now() - began) / 1000 })
    })
  })

/**
 * @param {string} root
 * @param {readonly string[]} only
 * @returns {Job[]}
 */
const testJobs = (root, only) => {
  // Whole programs that are broken and come back, several times in one test.
  const patient = (/** @type {string} */ name) => name.startsWith('test/faults/')
  const slow = (/** @type {string} */ name) => SLOW.some((directory) => name.startsWith(`${directory}/`))
  return readdirSync(join(root, 'test'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.test.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((name) => only.length === 0 || only.some((part) => name.includes(part)))
    .sort((a, b) => Number(slow(b)) - Number(slow(a)) || a.localeCompare(b))
    .flatMap((name) => [
      {
        name,
        file: process.execPath,
        args: [...QUICK, name],
        ...(patient(name) ? { env: { TAP_TIMEOUT: '290' } } : {}),
      },
      // What HTTP does, gRPC does: every case of the specification runs on both (test/spec/transports.ts).
      ...(name.startsWith('test/spec/')
        ? [
            {
              name: `${name} (gRPC)`,
              file: process.execPath,
              args: [...QUICK, name],
              env: { SPEC_TRANSPORT: 'grpc' },
            },
          ]
        : []),
      // And what it does on SQLite, it does on PostgreSQL (test/kit/test-store.ts).
      ...(name.startsWith('test/spec/')
        ? [
            {
              name: `${name} (PostgreSQL)`,
              file: process.execPath,
              args: [...QUICK, name],
              env: { SPEC_STORE: 'postgres' },
            },
          ]
        : []),
    ])
}

/** @param {Job} job */
const needsDatabase = ({ env }) => env?.SPEC_STORE === 'postgres'

/**
 * One PostgreSQL for all test files that do with a database of their own (test/kit/postgres.ts).
 * @param {readonly Job[]} jobs
 * @returns {Promise<{ missing: string | false, close: () => Promise<void> }>}
 */
const startDatabase = async (jobs) => {
  const nothing = async () => {}
  if (!jobs.some((job) => needsDatabase(job) || job.name.includes('postgres')))
    return { missing: false, close: nothing }
  const { postgresMissing, startPostgres } = await import('../test/kit/postgres.ts')
  const missing = postgresMissing()
  if (missing || process.env.SIDEVAULT_TEST_POSTGRES) return { missing, close: nothing }
  const server = await startPostgres()
  process.env.SIDEVAULT_TEST_POSTGRES = server.admin
  return { missing, close: server.close }
}

/**
 * Lint, types and every test file, two at a time but for those that judge the clock. The last line on standard output is
 * `N passed, N failed`;
 * the exit code is 1 when anything failed.
 * @param {string} root the project
 * @param {readonly string[]} only parts of file names: only these test files, no lint and no type check
 */
export const test = async (root, only = []) => {
  const script = (/** @type {string} */ name) => join(root, 'node_modules', '.bin', name)
  const checks = [
    {
      name: 'lint and format',
      file: script('biome'),
      args: ['ci', '--colors=off', '--error-on-warnings', '.'],
    },
    { name: 'types', file: script('tsc'), args: ['-p', '.'] },
  ]
  const jobs = [...(only.length === 0 ? checks : []), ...testJobs(root, only)]
  const total = { passed: 0, failed: 0, skipped: 0 }
  const checked = mkdtempSync(join(tmpdir(), 'sidevault-checked-'))
  process.env.SIDEVAULT_TEST_CHECKED = checked // test/kit/checked.ts
  const postgres = await startDatabase(jobs)
  if (postgres.missing) {
    process.stdout.write(`SKIP all that needs PostgreSQL: ${postgres.missing}\n`)
    for (const job of jobs.filter(needsDatabase)) {
      jobs.splice(jobs.indexOf(job), 1)
      total.skipped++
    }
  }
  /** @type {Map<Job, Outcome>} */
  const outcomes = new Map()
  const work = async (/** @type {Job[]} */ queue) => {
    for (let job = queue.shift(); job; job = queue.shift()) {
      const outcome = await perform(root, job)
      outcomes.set(job, outcome)
      const verdict = outcome.failed > 0 ? 'FAIL' : 'ok  '
      if (outcome.failed > 0) process.stdout.write(`\n${outcome.output.trimEnd()}\n`)
      process.stdout.write(`${verdict} ${job.name} (${outcome.seconds.toFixed(1)} s)\n`)
      for (const line of skippedPoints(outcome.output)) process.stdout.write(`SKIP ${line}\n`)
    }
  }
  const alone = jobs.filter(({ name }) => ALONE.includes(name))
  const together = jobs.filter((job) => !alone.includes(job))
  await work(alone)
  const queue = [...together]
  await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, () => work(queue)))
  const failed = together.filter((job) => (outcomes.get(job)?.failed ?? 0) > 0)
  if (failed.length > 0 && failed.length <= SECOND_CHANCES) {
    process.stdout.write(`\n${failed.length} failed beside others; once more, alone:\n`)
    await work([...failed])
    for (const job of failed)
      if (outcomes.get(job)?.failed === 0) process.stdout.write(`UNSTEADY ${job.name}: passed alone\n`)
  }
  await postgres.close()
  rmSync(checked, { recursive: true, force: true })
  for (const outcome of outcomes.values()) {
    total.passed += outcome.passed
    total.failed += outcome.failed
    total.skipped += outcome.skipped
  }
  if (total.skipped > 0) process.stdout.write(`${total.skipped} skipped\n`)
  process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0
  process.stdout.write(`${total.passed} passed, ${total.failed} failed\n`)
}
