import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { steadyClock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import type { Log } from '../common/log.ts'
import type { Metrics } from '../common/metrics.ts'
import { CHECK_MS, childrenWithin, DEFAULT_LIMITS, MESSAGE_MARGIN, memoryFor } from './limits.ts'
import { createCheckJob } from './parent/check-job.ts'
import { type Confinement, detectConfinement } from './parent/confinement.ts'
import { createInvocationJob } from './parent/invocation-job.ts'
import type { Source } from './parent/job.ts'
import { limitSentence } from './parent/limit-messages.ts'
import { Pool } from './parent/pool.ts'
import { startText } from './parent/sources.ts'
import { spawnChild } from './parent/spawn.ts'
import { createTrustTracker } from './parent/trust.ts'
import type { Invocation, Outcome, Program, Sandbox, SandboxLimits } from './types.ts'

interface SandboxOptions {
  /** Child processes; with only one, a program that kills it delays all others. */
  readonly children?: number
  /** Memory of all children in MiB; sets their number unless `children` does. */
  readonly memoryMib?: number
  readonly limits?: Partial<SandboxLimits>
  /** Required confinement; `tenant`: each child runs code of one tenant. */
  readonly require?: readonly string[]
  /** Result of `detectConfinement` with the same requirements. Default: it is called. */
  readonly confinement?: Confinement
  /** Reports each child, so that the supervisor can kill orphans of this process. */
  readonly onChild?: (pid: number, what: 'started' | 'ended') => void
}

/** Programs whose warm-up failed. */
const MAX_UNREADY = 1_000

/** A program for children. Its key covers tenant, name, code and limits. */
const sourceOf = (program: Program, limits: SandboxLimits, memoryMib: number): Source => {
  const { resultBytes, logLines, logBytes } = limits
  const { tenantId, name, code } = program
  const settings = { tenantId, name, memoryMib, resultBytes, logLines, logBytes }
  return { ...settings, code, key: hash('sha256', JSON.stringify(settings) + code, 'base64url') }
}

const defined = (limits: Partial<SandboxLimits> = {}): Partial<SandboxLimits> =>
  Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined))

/** Runs tenants' code (README.md). Resolves when the first child is ready; rejects when none can be started. */
export const createSandbox = async (
  deps: { readonly log: Log; readonly metrics: Metrics },
  options: SandboxOptions = {},
): Promise<Sandbox> => {
  const defaults: SandboxLimits = { ...DEFAULT_LIMITS, ...defined(options.limits) }
  const metrics = deps.metrics.sandbox
  const confinement = options.confinement ?? (await detectConfinement(options.require ?? [], deps.log))
  const start = startText({ argumentBytes: defaults.argumentBytes, aheadMs: defaults.cpuMs })
  const trust = createTrustTracker(steadyClock)
  const pool = new Pool(options.children ?? childrenWithin(options.memoryMib ?? 0), {
    log: deps.log,
    now: steadyClock.now,
    spawn: () => spawnChild(confinement, start),
    maxBytes: defaults.resultBytes + MESSAGE_MARGIN,
    oneTenantPerChild: options.require?.includes('tenant') ?? false,
    trust,
    onChild: (pid, what, why) => {
      if (why !== undefined && why !== 'closed') metrics.exits.inc({ reason: why })
      options.onChild?.(pid, what)
    },
  })
  let ids = 0

  const outcomeOf = (invocation: Invocation): Promise<Outcome> =>
    new Promise((resolve) => {
      const limits = { ...defaults, ...defined(invocation.limits) }
      const bytes = Buffer.byteLength(invocation.argument)
      const source = sourceOf(invocation.program, limits, memoryFor(limits, bytes))
      if (bytes > limits.argumentBytes)
        return resolve({
          kind: 'limit',
          limit: 'argument',
          message: limitSentence('argument', limits, source),
          console: [],
          timing: { waited: 0, cpu: 0, wall: 0 },
        })
      pool.submit(
        createInvocationJob(++ids, invocation, source, limits, {
          now: steadyClock.now,
          resolve,
          onBehaved: (well) => (well ? trust.behaved(source.key) : trust.exceeded(source.key)),
        }),
      )
    })

  const count = (outcome: Outcome): void => {
    metrics.invocations.inc({ outcome: outcome.kind === 'limit' ? outcome.limit : outcome.kind })
    metrics.seconds.observe({ time: 'waited' }, outcome.timing.waited / 1_000)
    metrics.seconds.observe({ time: 'cpu' }, outcome.timing.cpu / 1_000)
    metrics.seconds.observe({ time: 'wall' }, outcome.timing.wall / 1_000)
    metrics.children.set(pool.alive)
  }

  const check: Sandbox['check'] = (program) =>
    new Promise((resolve) => {
      const source = sourceOf(program, defaults, defaults.memoryMib)
      pool.submit(createCheckJob(++ids, source, defaults, { withinMs: CHECK_MS, resolve }))
    })

  /** Programs that are not warmed again: a failing load may take a second of a child each time. */
  const unready = new LRUCache<string, true>({ max: MAX_UNREADY })
  const warm = async (program: Program): Promise<void> => {
    const { key } = sourceOf(program, defaults, defaults.memoryMib)
    if (unready.has(key)) return
    if ((await check(program)).length > 0) unready.set(key, true)
  }

  await pool.ready.catch(async (error) => {
    await pool.close()
    throw error
  })
  return {
    run: async (invocation) => {
      const outcome = await outcomeOf(invocation)
      count(outcome)
      return outcome
    },
    check,
    warm: async (programs) => {
      await Promise.all(programs.map(warm))
    },
    health: async () => {
      if (pool.alive === 0)
        throw new AppError('gateway_timeout', 'No sandbox process is ready. Retry in a moment.')
      return { missing: confinement.missing }
    },
    close: () => pool.close(),
  }
}
