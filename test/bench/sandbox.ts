import { createLog } from '../../src/common/log.ts'
import { createMetrics } from '../../src/common/metrics.ts'
import { createSandbox } from '../../src/sandbox/sandbox.ts'
import type { Program, Sandbox, SandboxHost } from '../../src/sandbox/types.ts'
import { cpuSeconds, residentMiB } from './cpu.ts'

/** A stretch of invocations. Latencies in milliseconds, CPU in milliseconds of each invocation. */
interface InvocationFigures {
  readonly name: string
  readonly concurrency: number
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  /** This process: sandbox and load together. */
  readonly parentCpu: number
  readonly childrenCpu: number
}

interface SandboxFigures {
  readonly invocations: readonly InvocationFigures[]
  /** Milliseconds of the first call after the code was checked, as saving does. */
  readonly firstCall: { readonly p50: number; readonly worst: number }
  /** MiB of the children for each program that is ready. */
  readonly memoryPerProgram: number
}

interface SandboxBenchOptions {
  readonly seconds: number
  readonly concurrencies: readonly number[]
  /** Different programs that take turns. */
  readonly programs: number
}

const HOST: SandboxHost = { sdk: false, call: async () => null }
const ARGUMENT = JSON.stringify({
  args: {
    body: { amount: 1_250, card: '4242424242424242', padding: 'x'.repeat(900) },
    headers: { 'content-type': 'application/json' },
  },
})

/** Code that edits an object; each number makes another program. */
const edit = (number: number): Program => ({
  tenantId: 'bench',
  name: 'request_transform',
  code: `// ${number}
module.exports = async ({ args: { body: { card, ...rest }, headers } }) => ({ body: { ...rest, source: { pan: card } }, headers })`,
})

const SIGN: Program = {
  tenantId: 'bench',
  name: 'request_transform',
  code: `const { createHmac } = require('crypto')
module.exports = async ({ args: { body, headers } }) => {
  const signature = createHmac('sha256', 'key').update(JSON.stringify(body)).digest('hex')
  return { body, headers: { ...headers, 'x-signature': signature } }
}`,
}

const call = async (sandbox: Sandbox, program: Program): Promise<number> => {
  const started = performance.now()
  const outcome = await sandbox.run({ program, argument: ARGUMENT, host: HOST })
  if (outcome.kind !== 'returned') throw new Error(`A transform ended as ${JSON.stringify(outcome)}.`)
  return performance.now() - started
}

const at = (sorted: readonly number[], part: number) => sorted[Math.floor((sorted.length - 1) * part)] ?? 0

/** Calls in a closed loop for so many seconds; the programs take turns. */
const loop = async (sandbox: Sandbox, programs: readonly Program[], concurrency: number, seconds: number) => {
  const latencies: number[] = []
  const end = performance.now() + seconds * 1_000
  let turn = 0
  const worker = async () => {
    while (performance.now() < end)
      latencies.push(await call(sandbox, programs[turn++ % programs.length] as Program))
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  return latencies.sort((a, b) => a - b)
}

const sum = (pids: Iterable<number>, measure: (pid: number) => number) =>
  [...pids].reduce((total, pid) => total + measure(pid), 0)

/** The sandbox alone, in this process, without Envoy. */
export const benchSandbox = async (options: SandboxBenchOptions): Promise<SandboxFigures> => {
  const { seconds, concurrencies } = options
  const pids = new Set<number>()
  const sandbox = await createSandbox(
    { log: createLog('bench', 'silent'), metrics: createMetrics() },
    { onChild: (pid, what) => void (what === 'started' ? pids.add(pid) : pids.delete(pid)) },
  )

  const measure = async (
    name: string,
    programs: readonly Program[],
    concurrency: number,
  ): Promise<InvocationFigures> => {
    await loop(sandbox, programs, concurrency, seconds / 4)
    const children = sum(pids, cpuSeconds)
    const parent = process.cpuUsage()
    const started = performance.now()
    const latencies = await loop(sandbox, programs, concurrency, seconds)
    const took = (performance.now() - started) / 1_000
    const { user, system } = process.cpuUsage(parent)
    return {
      name,
      concurrency,
      perSecond: latencies.length / took,
      p50: at(latencies, 0.5),
      p99: at(latencies, 0.99),
      parentCpu: (user + system) / 1_000 / latencies.length,
      childrenCpu: ((sum(pids, cpuSeconds) - children) * 1_000) / latencies.length,
    }
  }

  try {
    const first: number[] = []
    for (let number = 0; number < 20; number++) {
      const program = edit(-1 - number)
      await sandbox.check(program)
      first.push(await call(sandbox, program))
    }
    first.sort((a, b) => a - b)

    const many = Array.from({ length: options.programs }, (_, number) => edit(number))
    const few = many.slice(0, 50)
    const before = sum(pids, residentMiB)
    await sandbox.warm(few)
    const memoryPerProgram = (sum(pids, residentMiB) - before) / few.length

    const invocations: InvocationFigures[] = []
    for (const concurrency of concurrencies) {
      invocations.push(await measure('an edit', few.slice(0, 1), concurrency))
      invocations.push(await measure('a signature', [SIGN], concurrency))
    }
    invocations.push(await measure(`${many.length} programs in turn`, many, Math.max(...concurrencies)))
    return { invocations, firstCall: { p50: at(first, 0.5), worst: at(first, 1) }, memoryPerProgram }
  } finally {
    await sandbox.close()
  }
}
