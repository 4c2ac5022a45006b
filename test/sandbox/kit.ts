import { setTimeout } from 'node:timers/promises'
import { createLog } from '../../src/common/log.ts'
import { createMetrics } from '../../src/common/metrics.ts'
import { createFrameReader } from '../../src/sandbox/frames.ts'
import { COMPILE_MS, DEFAULT_LIMITS } from '../../src/sandbox/limits.ts'
import { detectConfinement } from '../../src/sandbox/parent/confinement.ts'
import { createInvocationJob } from '../../src/sandbox/parent/invocation-job.ts'
import type { Source } from '../../src/sandbox/parent/job.ts'
import { Pool } from '../../src/sandbox/parent/pool.ts'
import { startText } from '../../src/sandbox/parent/sources.ts'
import { spawnChild } from '../../src/sandbox/parent/spawn.ts'
import { createTrustTracker } from '../../src/sandbox/parent/trust.ts'
import type { FromChild } from '../../src/sandbox/protocol.ts'
import { createSandbox } from '../../src/sandbox/sandbox.ts'
import type { Invocation, Outcome, Sandbox, SandboxHost } from '../../src/sandbox/types.ts'

export const NO_HOST: SandboxHost = {
  sdk: false,
  call: async () => {
    throw new Error('This test has no host.')
  },
}

interface RunOptions extends Partial<Omit<Invocation, 'program' | 'argument'>> {
  readonly tenantId?: string
  readonly name?: string
  readonly argument?: unknown
}

/** A sandbox and its children's process ids; it ends with the test. */
export const openSandbox = async (
  t: { teardown(end: () => Promise<void>): void },
  options: Parameters<typeof createSandbox>[1] = {},
) => {
  const pids = new Set<number>()
  const metrics = createMetrics()
  const sandbox: Sandbox = await createSandbox(
    { log: createLog('test', 'silent'), metrics },
    {
      ...options,
      // limits of time end an invocation only where the test sets lower ones
      limits: { cpuMs: 20_000, wallMs: 120_000, ...options.limits },
      onChild: (pid, what) => {
        if (what === 'started') pids.add(pid)
        else pids.delete(pid)
        options.onChild?.(pid, what)
      },
    },
  )
  t.teardown(() => sandbox.close())
  const run = (
    code: string,
    { tenantId = 'tenant', name = 'code', argument = {}, ...rest }: RunOptions = {},
  ): Promise<Outcome> =>
    sandbox.run({
      program: { tenantId, name, code },
      argument: JSON.stringify(argument),
      host: NO_HOST,
      ...rest,
    })
  return { sandbox, run, pids, metrics }
}

/** Value that the code returned; throws when it did not. */
export const returned = (outcome: Outcome): unknown => {
  if (outcome.kind !== 'returned') throw new Error(`The code did not return: ${JSON.stringify(outcome)}`)
  return outcome.json === undefined ? undefined : JSON.parse(outcome.json)
}

/** A program for `openPool`. */
export const programOf = (key: string, code: string): Source => {
  const { memoryMib, resultBytes, logLines, logBytes } = DEFAULT_LIMITS
  return { tenantId: 't', name: 'code', key, code, memoryMib, resultBytes, logLines, logBytes }
}

/** A CPU limit other than that of compiling, which `entering` also reports; a wall limit for busy machines. */
const POOL_LIMITS = { ...DEFAULT_LIMITS, cpuMs: 20 * COMPILE_MS, wallMs: 120_000 }

/** The pool of a sandbox, for tests of what children send. It ends with the test. */
export const openPool = async (
  t: { teardown(end: () => Promise<void>): void },
  children: number,
  {
    now = () => performance.now(),
    trusted = [],
    onMessage,
  }: {
    readonly now?: () => number
    /** Programs that are trusted from the start. */
    readonly trusted?: readonly Source[]
    readonly onMessage: (message: FromChild) => void
  },
) => {
  const confinement = await detectConfinement([], createLog('test', 'silent'))
  const start = startText({ argumentBytes: 1_000, aheadMs: POOL_LIMITS.cpuMs })
  const trust = createTrustTracker({ now })
  for (const { key } of trusted) trust.behaved(key)
  const pool = new Pool(children, {
    log: createLog('test', 'silent'),
    now,
    trust,
    oneTenantPerChild: false,
    maxBytes: 2 ** 24,
    onChild: () => {},
    spawn: () => {
      const spawned = spawnChild(confinement, start)
      const read = createFrameReader(2 ** 24, ({ header }) => onMessage(header as FromChild))
      spawned.stream.on('data', read)
      return spawned
    },
  })
  t.teardown(() => pool.close())
  // On a busy machine the first child would take programs of those that are not ready yet.
  while (pool.alive < children) await setTimeout(10)
  let ids = 0
  return (program: Source): Promise<Outcome> =>
    new Promise((resolve) => {
      const invocation = { program, argument: '1', host: NO_HOST }
      const onBehaved = () => trust.behaved(program.key)
      pool.submit(createInvocationJob(++ids, invocation, program, POOL_LIMITS, { now, resolve, onBehaved }))
    })
}
