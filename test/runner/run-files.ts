/**
 * Runs the test files that its standard input names (a `TestFile` a line, as JSON), one after the other in this
 * process: what they import is loaded once. Each is one subtest of the TAP stream on standard output, and a comment
 * with its CPU-seconds.
 */
import { registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { t as root, type Test } from 'tap'
import { cpuSeconds } from './test-cost.ts'

export interface TestFile {
  readonly name: string
  readonly file: string
  /** Of the process, while it runs. */
  readonly env: Readonly<Record<string, string>>
  /** After so long (ms) it has failed. */
  readonly timeout: number
}

/** The subtest that stands for the file that runs. */
let current: Test = root

const SYMBOL = 'sidevault.test'

/** The module that test files and their helpers import as tap. */
const ofFile = `data:text/javascript,export default globalThis[Symbol.for('${SYMBOL}')]`

Object.defineProperty(globalThis, Symbol.for(SYMBOL), {
  value: new Proxy(root, {
    get: (_, name) => {
      const member = Reflect.get(current, name, current)
      return typeof member === 'function' ? member.bind(current) : member
    },
    set: (_, name, value) => Reflect.set(current, name, value, current),
  }),
})

/** What lasts as long as the process is closed at its end (process-end.ts). */
const closers: (() => unknown)[] = []
Object.defineProperty(globalThis, Symbol.for('sidevault.test.process'), { value: closers })

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'tap' && context.parentURL !== import.meta.url
      ? { url: ofFile, format: 'module', shortCircuit: true }
      : next(specifier, context),
})

const run = async ({ name, file, env, timeout }: TestFile) => {
  const before = cpuSeconds()
  await root.test(name, { timeout }, async (t) => {
    current = t
    t.testdirName = resolve('.tap', 'fixtures', name.replaceAll(/[^\w.-]+/g, '-'))
    t.teardown(() => {
      for (const variable of Object.keys(env)) delete process.env[variable]
    })
    Object.assign(process.env, env)
    // With a query it is another module: a file runs again with other variables.
    const query = Object.keys(env).length === 0 ? '' : `?${encodeURIComponent(name)}`
    await import(pathToFileURL(resolve(file)).href + query)
  })
  if (root.results) return // tap has ended: the test waited for nothing
  // At a comment tap writes the lines before it; the comment itself, before the next test.
  root.comment(name)
  root.write(`# cpu=${(cpuSeconds() - before).toFixed(2)}\n`)
}

// While a file runs, waiting for the next does not keep the process alive: a test that waits for nothing fails.
for await (const line of createInterface({ input: process.stdin })) {
  process.stdin.unref()
  await run(JSON.parse(line))
  process.stdin.ref()
}
for (const close of closers.reverse()) await close()

/** ms after the last test in which the process ends by itself. */
const END_MS = 20_000

// Something that a teardown left open would delay the run. It is named, and the results stand.
setTimeout(() => {
  process.stderr.write(`left open after the last test: ${process.getActiveResourcesInfo().join(', ')}\n`)
  process.exit()
}, END_MS).unref()
