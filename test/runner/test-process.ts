/** A process that runs test files one after the other (run-files.ts), and what its TAP stream says of each. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { TestFile } from './run-files.ts'

/** Of a test file, or of a check without one. */
export interface Result {
  readonly name: string
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly output: string
  readonly seconds: number
  /** In seconds. */
  readonly cpu: number
}

/** How a process ended, and what it printed. */
interface Ended {
  readonly ok: boolean
  readonly stdout: string
  readonly stderr: string
}

/** ms that a process has beyond the timeout of its test file. */
const GRACE_MS = 20_000

/** ms in which the last lines on standard error arrive, after those on standard output. */
const STDERR_MS = 100

/** Counts the test points of a TAP stream (https://testanything.org) at one level of indentation. */
export const countTap = (tap: string, indent = 0) => {
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

/** Skipped tests, with their reasons. */
export const skippedPoints = (tap: string): readonly string[] =>
  tap.split('\n').flatMap((line) => /^ *ok\s+\d+\s+-?\s*(.*# skip.*)$/i.exec(line)?.[1] ?? [])

const resultOf = (name: string, text: string): Result => {
  const counts = countTap(text, 4)
  const [point, not] = /^(not )?ok .*$/m.exec(text) ?? []
  // A file that ends before its last test, or has no test, has failed.
  if (counts.failed === 0 && (!point || not || counts.passed + counts.skipped === 0)) counts.failed = 1
  const ms = Number(/# time=([\d.]+)ms/.exec(point ?? '')?.[1] ?? 0)
  return { name, ...counts, output: text, seconds: ms / 1000, cpu: Number(END.exec(text)?.[1] ?? 0) }
}

/** The line after the last one of a test file. */
const END = /^# cpu=([\d.]+)\n/m

/** Starts a program with the variables of a test run; `printed` is called after each of its outputs. */
export const start = (root: string, file: string, args: readonly string[], printed = () => {}) => {
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
  const text = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (chunk: string) => {
      text[name] += chunk
      printed()
    })
  child.stdin.on('error', () => {}) // the child has ended
  child.on('error', (error) => {
    text.stderr += error.message
  })
  const ended = new Promise<Ended>((resolve) =>
    child.on('close', (code, signal) => {
      if (signal) text.stderr += `\nended by ${signal}`
      resolve({ ok: code === 0, ...text })
    }),
  )
  return { child, text, ended }
}

export interface TestProcess {
  /** Test files that it has run. */
  readonly names: readonly string[]
  /** False after its end. */
  isRunning(): boolean
  /** Runs a test file; one at a time. */
  run(file: TestFile): Promise<Result>
  /** Ends it. `error` is what went wrong after its last test file, `note` what was left open. */
  end(): Promise<{ readonly error?: string; readonly note?: string }>
}

/** A process for test files. It loads what they import once. */
export const startTestProcess = (root: string): TestProcess => {
  let look = () => {}
  const { child, text, ended } = start(root, process.execPath, ['test/runner/run-files.ts'], () => look())
  let failed = false
  let running = true
  void ended.then(() => {
    running = false
    look()
  })
  const names: string[] = []
  return {
    names,
    isRunning: () => running,
    run: async (file) => {
      names.push(file.name)
      const [before, errorsBefore] = [text.stdout.length, text.stderr.length]
      const limit = setTimeout(() => child.kill('SIGKILL'), file.timeout + GRACE_MS)
      child.stdin.write(`${JSON.stringify(file)}\n`)
      await new Promise<void>((resolve) => {
        look = () => {
          if (!running || END.test(text.stdout.slice(before))) resolve()
        }
        look()
      })
      clearTimeout(limit)
      const result = resultOf(file.name, text.stdout.slice(before))
      if (result.failed === 0) return result
      failed = true
      await pause(STDERR_MS)
      return { ...result, output: result.output + text.stderr.slice(errorsBefore) }
    },
    end: async () => {
      child.stdin.end()
      const { ok, stderr } = await ended
      const [note] = /left open after the last test: .*/.exec(stderr) ?? []
      return { ...(ok || failed ? {} : { error: stderr }), ...(note ? { note } : {}) }
    },
  }
}
