import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { AppError } from '../common/errors.ts'
import type { Log } from '../common/log.ts'
import type { Metrics } from '../common/metrics.ts'
import { CHECK_MS, childrenWithin, DEFAULT_LIMITS, MESSAGE_MARGIN, memoryFor } from './limits.ts'
import { type Checked, createCheckJob } from './parent/check.ts'
import { checkConfinement, probeConfinement } from './parent/confinement.ts'
import { createInvocationJob } from './parent/invocation.ts'
import type { Source } from './parent/job.ts'
import { limitSentence } from './parent/limit-messages.ts'
import { createPool } from './parent/pool.ts'
import { startText } from './parent/sources.ts'
import { spawnChild } from './parent/spawn.ts'
import { createReputation } from './parent/trust.ts'
import type { Outcome, Program, Sandbox, SandboxLimits } from './types.ts'

export interface SandboxOptions {
  /** Child processes; with one, a program that makes it die makes all others wait. */
  readonly children?: number
  /** MiB of all children together, which say how many there are where `children` does not. */
  readonly memoryMb?: number
  readonly limits?: Partial<SandboxLimits>
  /** Names of installed packages that code may require. */
  readonly packages?: readonly string[]
  /** Calls of a tenant's same code may share a context, and so what it keeps in variables; by default each has its own. */
  readonly warmContexts?: boolean
  /** Confinement without which none is made; `tenant`: no child ever runs code of two tenants. */
  readonly require?: readonly string[]
  /** Told of each child, so that whoever watches over this process can end those that it leaves behind. */
  readonly onChild?: (pid: number, what: 'started' | 'ended') => void
}

/** Programs that were not to be made ready. */
const MAX_UNREADY = 1_000

/** A program as a child holds it: in another tenant, by another name or with other limits it is another one. */
const sourceOf = (program: Program, limits: SandboxLimits, memoryMb: number): Source => {
  const { resultBytes, logLines, logBytes } = limits
  const { tenantId, name, code } = program
  const settings = { tenantId, name, memoryMb, resultBytes, logLines, logBytes }
  return { ...settings, code, key: hash('sha256', JSON.stringify(settings) + code, 'base64url') }
}

const defined = (limits: Partial<SandboxLimits> = {}): Partial<SandboxLimits> =>
  Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined))

/** Runs other people's code (README.md). Resolves when the first child is ready; rejects when none can be started. */
export const createSandbox = async (
  deps: { readonly log: Log; readonly metrics: Metrics },
  options: SandboxOptions = {},
): Promise<Sandbox> => {
  const defaults: SandboxLimits = { ...DEFAULT_LIMITS, ...defined(options.limits) }
  const metrics = deps.metrics.sandbox
  const confinement = await probeConfinement()
  checkConfinement(confinement, options.require ?? [], deps.log)
  const start = startText({
    packages: options.packages ?? [],
    warm: options.warmContexts ?? false,
    argumentBytes: defaults.argumentBytes,
    aheadMs: defaults.cpuMs,
  })
  const reputation = createReputation({ now: () => performance.now() })
  const pool = createPool(options.children ?? childrenWithin(options.memoryMb ?? 0), {
    log: deps.log,
    now: () => performance.now(),
    spawn: () => spawnChild(confinement, start),
    maxBytes: defaults.resultBytes + MESSAGE_MARGIN,
    apart: options.require?.includes('tenant') ?? false,
    reputation,
    onChild: (pid, what, why) => {
      if (why !== undefined && why !== 'closed') metrics.ends.inc({ why })
      options.onChild?.(pid, what)
    },
  })
  let ids = 0

  const count = (outcome: Outcome): void => {
    metrics.invocations.inc({ outcome: outcome.kind === 'limit' ? outcome.limit : outcome.kind })
    metrics.seconds.observe({ time: 'waited' }, outcome.timing.waited / 1_000)
    metrics.seconds.observe({ time: 'cpu' }, outcome.timing.cpu / 1_000)
    metrics.seconds.observe({ time: 'wall' }, outcome.timing.wall / 1_000)
    metrics.children.set(pool.alive)
  }

  const check = (program: Program): Promise<Checked> =>
    new Promise((resolve) => {
      const source = sourceOf(program, defaults, defaults.memoryMb)
      pool.submit(createCheckJob(++ids, source, defaults, { withinMs: CHECK_MS, resolve }))
    })

  /** What takes a second to fail would take it from everybody each time that anything is made ready. */
  const unready = new LRUCache<string, true>({ max: MAX_UNREADY })
  const warm = async (program: Program): Promise<void> => {
    const { key } = sourceOf(program, defaults, defaults.memoryMb)
    if (unready.has(key)) return
    if ((await check(program)).issues.length > 0) unready.set(key, true)
  }

  await pool.ready.catch(async (error) => {
    await pool.close()
    throw error
  })
  return {
    run: (invocation) =>
      new Promise((resolve) => {
        const result = (outcome: Outcome) => {
          count(outcome)
          resolve(outcome)
        }
        const limits = { ...defaults, ...defined(invocation.limits) }
        const bytes = Buffer.byteLength(invocation.argument)
        const source = sourceOf(invocation.program, limits, memoryFor(limits, bytes))
        if (bytes > limits.argumentBytes)
          return result({
            kind: 'limit',
            limit: 'argument',
            message: limitSentence('argument', limits, source),
            console: [],
            timing: { waited: 0, cpu: 0, wall: 0 },
          })
        pool.submit(
          createInvocationJob(++ids, invocation, source, limits, {
            now: () => performance.now(),
            resolve: result,
            onBehaved: (well) => (well ? reputation.behaved(source.key) : reputation.exceeded(source.key)),
          }),
        )
      }),
    check,
    warm: async (programs) => {
      await Promise.all(programs.map(warm))
    },
    health: async () => {
      if (pool.alive === 0)
        throw new AppError(
          'gateway_timeout',
          'No process that runs transforms and formulas is ready. Retry in a moment.',
        )
      return { missing: confinement.missing }
    },
    close: pool.close,
  }
}
