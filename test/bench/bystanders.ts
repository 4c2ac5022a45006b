import { createLog } from '../../src/common/log.ts'
import { createMetrics } from '../../src/common/metrics.ts'
import { createSandbox } from '../../src/sandbox/sandbox.ts'
import type { Program, SandboxHost } from '../../src/sandbox/types.ts'
import { CPU, NATIVE } from '../sandbox/hostile/loops.ts'
import { MEMORY } from '../sandbox/hostile/memory.ts'

/** Calls of a well-behaved program beside hostile ones; milliseconds from when each was due. */
interface BystanderFigures {
  readonly perSecond: number
  readonly calls: number
  /** How many ended otherwise than they should, by how. */
  readonly failed: Readonly<Record<string, number>>
  readonly hostile: number
  /** Children that had to be killed. */
  readonly killed: number
  readonly p50: number
  readonly p99: number
  readonly worst: number
}

const HOST: SandboxHost = { sdk: false, call: async () => null }
const GOOD: Program = {
  tenantId: 'good',
  name: 'request_transform',
  code: 'module.exports = async ({ args }) => ({ body: args.body, headers: args.headers })',
}
const ARGUMENT = JSON.stringify({ args: { body: { padding: 'x'.repeat(900) }, headers: {} } })
/** Milliseconds between two hostile invocations. */
const HOSTILE_MS = 1_500

const at = (sorted: readonly number[], part: number) => sorted[Math.floor((sorted.length - 1) * part)] ?? 0

/** Open loop: each call starts when it is due, whether or not earlier ones have ended. */
export const benchBystanders = async (options: {
  readonly seconds: number
  readonly perSecond: number
}): Promise<BystanderFigures> => {
  let killed = 0
  let closing = false
  const sandbox = await createSandbox(
    { log: createLog('bench', 'silent'), metrics: createMetrics() },
    { onChild: (_, what) => void (what === 'ended' && !closing && killed++) },
  )
  const latencies: number[] = []
  const failed: Record<string, number> = {}
  let hostile = 0
  const working = new Set<Promise<unknown>>()
  const begin = (work: Promise<unknown>) => {
    working.add(work.finally(() => working.delete(work)))
  }
  const good = async (due: number) => {
    const outcome = await sandbox.run({ program: GOOD, argument: ARGUMENT, host: HOST })
    const end = outcome.kind === 'limit' ? outcome.limit : outcome.kind
    if (end !== 'returned') failed[end] = (failed[end] ?? 0) + 1
    latencies.push(performance.now() - due)
  }
  // programs of their own, so that none is in quarantine: native loops, memory, loops in turn
  const worst = NATIVE.flatMap((native, index) => [
    native,
    MEMORY[index % MEMORY.length],
    CPU[index % CPU.length],
  ])
  const attack = () => {
    const { code = '' } = worst[hostile++ % worst.length] ?? {}
    return sandbox.run({
      program: { tenantId: 'hostile', name: 'request_transform', code: `${code}\n// ${hostile}` },
      argument: '{}',
      host: HOST,
    })
  }

  try {
    await sandbox.run({ program: GOOD, argument: ARGUMENT, host: HOST })
    const began = performance.now()
    const total = options.seconds * options.perSecond
    for (let next = 0; next < total; ) {
      const elapsed = performance.now() - began
      while (next < total && (next * 1_000) / options.perSecond <= elapsed)
        begin(good(began + (next++ * 1_000) / options.perSecond))
      if (elapsed >= hostile * HOSTILE_MS) begin(attack())
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    await Promise.all(working)
    latencies.sort((a, b) => a - b)
    return {
      perSecond: options.perSecond,
      calls: latencies.length,
      failed,
      hostile,
      killed,
      p50: at(latencies, 0.5),
      p99: at(latencies, 0.99),
      worst: at(latencies, 1),
    }
  } finally {
    closing = true
    await sandbox.close()
  }
}
