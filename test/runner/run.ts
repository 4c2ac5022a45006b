import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestFile } from './run-files.ts'
import { type Cost, cpuSeconds, keepCost, summarize } from './test-cost.ts'
import { batchesOf, needsPostgres, testFiles, withoutPostgres } from './test-files.ts'
import { type Result, skippedPoints, start, startTestProcess, type TestProcess } from './test-process.ts'

/** Test files after which a process ends: each leaves some memory behind. */
const MAX_FILES = 100

/** A check without a test file. */
const check = async (
  root: string,
  name: string,
  program: string,
  args: readonly string[],
): Promise<Result> => {
  const began = Date.now()
  const { child, ended } = start(root, join(root, 'node_modules', '.bin', program), args)
  child.stdin.end()
  const { ok, stdout, stderr } = await ended
  const counts = { passed: Number(ok), failed: Number(!ok), skipped: 0 }
  return { name, ...counts, output: stdout + stderr, seconds: (Date.now() - began) / 1000, cpu: 0 }
}

const checksOf = (root: string) => [
  () => check(root, 'lint and format', 'biome', ['ci', '--colors=off', '--error-on-warnings', '.']),
  ...['.', 'src/console', 'test/console'].map(
    // Each checker makes the types that it meets anew; tests use the other cores.
    (folder) => () => check(root, `types of ${folder}`, 'tsc', ['-p', folder, '--checkers', '1']),
  ),
]

/** Starts one PostgreSQL for all test files; each file uses its own database (test/kit/postgres.ts). */
const startDatabase = async (files: readonly TestFile[]) => {
  const nothing = async () => {}
  if (!files.some((file) => needsPostgres(file) || file.name.includes('postgres')))
    return { missing: false, close: nothing }
  const { postgresMissing, startPostgres } = await import('../kit/postgres.ts')
  const missing = postgresMissing()
  if (missing || process.env.SIDEVAULT_TEST_POSTGRES) return { missing, close: nothing }
  const server = await startPostgres()
  process.env.SIDEVAULT_TEST_POSTGRES = server.admin
  return { missing, close: server.close }
}

const print = (line: string) => process.stdout.write(`${line}\n`)

/**
 * Runs lint, types and all test files, a few at a time. The last line on standard output is `N passed, N failed`; the
 * exit code is 1 when anything failed. `--unit`: only unit tests, without lint and types. `--long`: only
 * `*.long.test.ts`, which measure time or run long, one at a time.
 * @param root the project
 * @param args a mode, and parts of file names: only these test files, no lint and no type check
 */
export const test = async (root: string, args: readonly string[]): Promise<void> => {
  const only = args.filter((arg) => !arg.startsWith('--'))
  const [unit, long] = [args.includes('--unit'), args.includes('--long')]
  const files = testFiles(root, only, (kind) => (unit ? kind === 'unit' : long === (kind === 'long')))
  const complete = only.length === 0 && !unit && !long
  const checks = complete ? checksOf(root) : []
  const total = { passed: 0, failed: 0, skipped: 0 }
  const costs: Cost[] = []
  const checked = mkdtempSync(join(tmpdir(), 'sidevault-checked-'))
  process.env.SIDEVAULT_TEST_CHECKED = checked // test/kit/checked.ts
  process.env.SIDEVAULT_TEST_LONG = long ? '1' : '0' // test/kit/long.ts
  const postgres = await startDatabase(files)
  if (postgres.missing) {
    print(`SKIP tests that need PostgreSQL: ${postgres.missing}`)
    total.skipped += files.filter(needsPostgres).length
  }
  const batches = batchesOf(
    files.map((file) => (postgres.missing && needsPostgres(file) ? withoutPostgres(file) : file)),
  )

  const report = ({ name, passed, failed, skipped, output, seconds, cpu }: Result) => {
    costs.push({ name, cpu })
    total.passed += passed
    total.failed += failed
    total.skipped += skipped
    if (failed > 0) print(`\n${output.trim()}`)
    print(`${failed > 0 ? 'FAIL' : 'ok  '} ${name} (${seconds.toFixed(1)} s)`)
    for (const line of skippedPoints(output)) print(`SKIP ${line}`)
  }

  const end = async (running: TestProcess | undefined) => {
    const { error, note } = (await running?.end()) ?? {}
    const names = running?.names.join(', ')
    if (note) print(`NOTE ${names}: ${note}`)
    if (error === undefined) return
    total.failed++
    print(`\n${error.trim()}\nFAIL the process of ${names}`)
  }

  const work = async () => {
    for (let next = checks.shift(); next; next = checks.shift()) report(await next())
    let running: TestProcess | undefined
    for (let batch = batches.shift(); batch; batch = batches.shift()) {
      if (batch.alone || !running?.isRunning() || running.names.length >= MAX_FILES) {
        await end(running)
        running = startTestProcess(root)
      }
      for (const file of batch.files) report(await running.run(file))
      if (!batch.alone) continue
      await end(running)
      running = undefined
    }
    await end(running)
  }
  // One more than cores: many tests wait for a process or a timeout.
  await Promise.all(Array.from({ length: long ? 1 : Math.min(2, availableParallelism()) + 1 }, work))
  await postgres.close()
  rmSync(checked, { recursive: true, force: true })
  if (total.skipped > 0) print(`${total.skipped} skipped`)
  const { text, json } = summarize(costs, cpuSeconds())
  print(text)
  if (complete) keepCost(root, json)
  process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0
  print(`${total.passed} passed, ${total.failed} failed`)
}
