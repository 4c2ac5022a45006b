import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, relative, sep } from 'node:path'
import { cpuSeconds, keepCost, summarize } from '../test/kit/test-cost.ts'

/** @typedef {import('../test/kit/run-files.ts').TestFile} TestFile */
/**
 * @typedef {object} Result
 * @property {string} name
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 * @property {string} output
 * @property {number} seconds
 * @property {number} cpu in seconds
 */
/** @typedef {() => Promise<readonly Result[]>} Job what one process does */

/** Time limit of one test file, in ms. */
const TIMEOUT = 600_000

/**
 * Kinds of test files, by the end of their names (CONTRIBUTING.md, "Tests"). They run in this order, so that nothing
 * long runs alone at the end. `perProcess`: files of one process, which loads the product once (three seconds of CPU).
 * `runs`: variables of each run of a file.
 * @type {Readonly<Record<string, { perProcess: number, runs?: readonly Readonly<Record<string, string>>[] }>>}
 */
const KINDS = {
  long: { perProcess: 1 },
  own: { perProcess: 1 },
  shared: { perProcess: Number.POSITIVE_INFINITY },
  browser: { perProcess: Number.POSITIVE_INFINITY },
  program: { perProcess: 4 },
  // Over HTTP on SQLite, and over gRPC on PostgreSQL (test/spec/transports.ts, test/kit/test-store.ts).
  stores: { perProcess: 36, runs: [{}, { SPEC_TRANSPORT: 'grpc', SPEC_STORE: 'postgres' }] },
  integration: { perProcess: 36 },
  unit: { perProcess: 36 },
}

/**
 * @param {string} file `<name>.<kind>.test.ts`, or `<name>.test.ts` for a unit test
 */
const kindOf = (file) => {
  const kind = /\.([^./]+)\.test\.ts$/.exec(file)?.[1] ?? 'unit'
  if (!Object.hasOwn(KINDS, kind))
    throw new Error(`${file}: there is no kind of tests "${kind}" (bin/test.js)`)
  return kind
}

/**
 * Counts the test points of a TAP stream (https://testanything.org) at one level of indentation.
 * @param {string} tap
 * @param {number} indent
 */
export const countTap = (tap, indent = 0) => {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  for (const line of tap.split('\n')) {
    const point = /^( *)(not )?ok\b(.*)$/.exec(line)
    if (point?.[1]?.length !== indent) continue
    if (/# (skip|todo)/i.test(point[3] ?? '')) counts.skipped++
    else if (point[2]) counts.failed++
    else counts.passed++
  }
  return counts
}

/**
 * Skipped tests, with their reasons.
 * @param {string} tap
 */
const skippedPoints = (tap) =>
  tap.split('\n').flatMap((line) => /^ *ok\s+\d+\s+-?\s*(.*# skip.*)$/i.exec(line)?.[1] ?? [])

/**
 * @param {string} root
 * @param {string} file
 * @param {readonly string[]} args
 * @param {{ input?: string, timeout: number }} options
 * @returns {Promise<{ ok: boolean, stdout: string, stderr: string, seconds: number }>}
 */
const run = (root, file, args, { input = '', timeout }) =>
  new Promise((resolve) => {
    const began = Date.now()
    let stdout = ''
    let stderr = ''
    const child = spawn(file, args, {
      cwd: root,
      env: {
        ...process.env,
        XDG_CACHE_HOME: join(root, '.cache'),
        TAP_TIMEOUT: '0', // each file has its own
        NODE_COMPILE_CACHE: join(root, '.cache', 'compiled'),
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const limit = setTimeout(() => child.kill('SIGKILL'), timeout)
    child.stdin.on('error', () => {}) // the child does not read it
    child.stdin.end(input)
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
      if (signal) stderr += `\nended by ${signal}`
      resolve({ ok: code === 0, stdout, stderr, seconds: (Date.now() - began) / 1000 })
    })
  })

/**
 * A check without a test file.
 * @param {string} root
 * @param {string} name
 * @param {string} program
 * @param {readonly string[]} args
 * @returns {Job}
 */
const check = (root, name, program, args) => async () => {
  const { ok, stdout, stderr, seconds } = await run(root, join(root, 'node_modules', '.bin', program), args, {
    timeout: TIMEOUT,
  })
  const counts = { passed: Number(ok), failed: Number(!ok), skipped: 0 }
  return [{ name, ...counts, output: stdout + stderr, seconds, cpu: 0 }]
}

/**
 * Subtests of a TAP stream, in order.
 * @param {string} tap
 */
const subtests = (tap) =>
  tap
    .split(/^(?=# Subtest: )/m)
    .slice(1)
    .map((text) => {
      const [point, failed] = /^(not )?ok .*$/m.exec(text) ?? []
      const ms = Number(/# time=([\d.]+)ms/.exec(point ?? '')?.[1] ?? 0)
      return { text, ok: point !== undefined && !failed, seconds: ms / 1000 }
    })

/**
 * Runs test files in one process, one after the other (test/kit/run-files.ts).
 * @param {string} root
 * @param {readonly TestFile[]} files
 * @returns {Job}
 */
const testing = (root, files) => async () => {
  const { ok, stdout, stderr } = await run(root, process.execPath, ['test/kit/run-files.ts'], {
    input: files.map((file) => JSON.stringify(file)).join('\n'),
    timeout: files.reduce((sum, { timeout }) => sum + timeout, 20_000),
  })
  const parts = subtests(stdout)
  const results = files.map(({ name }, index) => {
    const part = parts[index] ?? { text: '', ok: false, seconds: 0 }
    const counts = countTap(part.text, 4)
    // A file that ends before its last test, or has no test, has failed.
    if (counts.failed === 0 && (!part.ok || counts.passed + counts.skipped === 0)) counts.failed = 1
    const cpu = Number(/^# cpu=([\d.]+)$/m.exec(part.text)?.[1] ?? 0)
    return { name, ...counts, output: part.text, seconds: part.seconds, cpu }
  })
  const [last] = results.slice(-1)
  if (!ok && last && results.every(({ failed }) => failed === 0)) last.failed = 1
  for (const result of results) if (result.failed > 0) result.output += stderr
  const [open] = /left open after the last test: .*/.exec(stderr) ?? []
  if (open) process.stdout.write(`NOTE ${files.map(({ name }) => name).join(', ')}: ${open}\n`)
  return results
}

/**
 * @param {string} root
 * @param {readonly string[]} only parts of paths; none for all files
 * @param {(kind: string) => boolean} ofKind
 * @returns {TestFile[]}
 */
const testFiles = (root, only, ofKind) =>
  readdirSync(join(root, 'test'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.test.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((file) => ofKind(kindOf(file)))
    .filter((file) => only.length === 0 || only.some((part) => file.includes(part)))
    .sort()
    .flatMap((file) => {
      const kind = kindOf(file)
      const timeout = kind === 'long' ? 10 * TIMEOUT : TIMEOUT
      return (KINDS[kind]?.runs ?? [{}]).map((env) => {
        const name = env.SPEC_STORE === 'postgres' ? `${file} (gRPC, PostgreSQL)` : file
        return { name, file, timeout, env }
      })
    })

/** @param {TestFile} file */
const needsDatabase = ({ env }) => env?.SPEC_STORE === 'postgres'

/**
 * The same file on SQLite.
 * @param {TestFile} file
 * @returns {TestFile}
 */
const withoutDatabase = ({ file, timeout }) => ({
  name: `${file} (gRPC)`,
  file,
  timeout,
  env: { SPEC_TRANSPORT: 'grpc' },
})

/**
 * Starts one PostgreSQL for all test files; each file uses its own database (test/kit/postgres.ts).
 * @param {readonly TestFile[]} files
 * @returns {Promise<{ missing: string | false, close: () => Promise<void> }>}
 */
const startDatabase = async (files) => {
  const nothing = async () => {}
  if (!files.some((file) => needsDatabase(file) || file.name.includes('postgres')))
    return { missing: false, close: nothing }
  const { postgresMissing, startPostgres } = await import('../test/kit/postgres.ts')
  const missing = postgresMissing()
  if (missing || process.env.SIDEVAULT_TEST_POSTGRES) return { missing, close: nothing }
  const server = await startPostgres()
  process.env.SIDEVAULT_TEST_POSTGRES = server.admin
  return { missing, close: server.close }
}

/**
 * @param {readonly TestFile[]} files
 * @param {number} size
 */
const packs = (files, size) =>
  Array.from({ length: Math.ceil(files.length / size) }, (_, index) =>
    files.slice(index * size, (index + 1) * size),
  )

/**
 * Test files by process.
 * @param {readonly TestFile[]} files
 */
const byProcess = (files) =>
  Object.entries(KINDS).flatMap(([kind, { perProcess }]) => {
    const ofKind = files.filter(({ file }) => kindOf(file) === kind)
    return packs(ofKind, Math.min(perProcess, Math.max(1, ofKind.length)))
  })

/**
 * Runs lint, types and all test files, a few at a time. The last line on standard output is `N passed, N failed`; the
 * exit code is 1 when anything failed. `--unit`: only unit tests, without lint and types. `--long`: only
 * `*.long.test.ts`, which measure time or run long, one at a time.
 * @param {string} root the project
 * @param {readonly string[]} args a mode, and parts of file names: only these test files, no lint and no type check
 */
export const test = async (root, args = []) => {
  const only = args.filter((arg) => !arg.startsWith('--'))
  const [unit, long] = [args.includes('--unit'), args.includes('--long')]
  const files = testFiles(root, only, (kind) => (unit ? kind === 'unit' : long === (kind === 'long')))
  const checks =
    only.length > 0 || unit || long
      ? []
      : [
          check(root, 'lint and format', 'biome', ['ci', '--colors=off', '--error-on-warnings', '.']),
          ...['.', 'src/console', 'test/console'].map((folder) =>
            check(root, `types of ${folder}`, 'tsc', ['-p', folder]),
          ),
        ]
  const total = { passed: 0, failed: 0, skipped: 0 }
  /** @type {import('../test/kit/test-cost.ts').Cost[]} */
  const costs = []
  const checked = mkdtempSync(join(tmpdir(), 'sidevault-checked-'))
  process.env.SIDEVAULT_TEST_CHECKED = checked // test/kit/checked.ts
  process.env.SIDEVAULT_TEST_LONG = long ? '1' : '0' // test/kit/long.ts
  const postgres = await startDatabase(files)
  if (postgres.missing) {
    process.stdout.write(`SKIP tests that need PostgreSQL: ${postgres.missing}\n`)
    total.skipped += files.filter(needsDatabase).length
  }
  const possible = files.map((file) =>
    postgres.missing && needsDatabase(file) ? withoutDatabase(file) : file,
  )
  const jobs = [...checks, ...byProcess(possible).map((pack) => testing(root, pack))]
  const work = async () => {
    for (let job = jobs.shift(); job; job = jobs.shift())
      for (const { name, passed, failed, skipped, output, seconds, cpu } of await job()) {
        costs.push({ name, cpu })
        total.passed += passed
        total.failed += failed
        total.skipped += skipped
        if (failed > 0) process.stdout.write(`\n${output.trim()}\n`)
        process.stdout.write(`${failed > 0 ? 'FAIL' : 'ok  '} ${name} (${seconds.toFixed(1)} s)\n`)
        for (const line of skippedPoints(output)) process.stdout.write(`SKIP ${line}\n`)
      }
  }
  // One more than cores: many tests wait for a process or a timeout.
  await Promise.all(Array.from({ length: long ? 1 : Math.min(2, availableParallelism()) + 1 }, work))
  await postgres.close()
  rmSync(checked, { recursive: true, force: true })
  if (total.skipped > 0) process.stdout.write(`${total.skipped} skipped\n`)
  const { text, json } = summarize(costs, cpuSeconds())
  process.stdout.write(`${text}\n`)
  if (only.length === 0 && !unit && !long) keepCost(root, json)
  process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0
  process.stdout.write(`${total.passed} passed, ${total.failed} failed\n`)
}
