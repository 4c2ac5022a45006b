import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '../common/log.ts'
import { createLogThrottle } from '../common/log-throttle.ts'
import { createWatchBlocking } from '../common/watch-blocking.ts'
import { TimeoutError, withTimeout } from '../common/with-timeout.ts'
import type { HealthSource } from './types.ts'

const INTERVAL_MS = 5_000
const TIMEOUT_MS = 2_000

/** State of a component, for `/readyz`. */
export interface ComponentHealth {
  readonly degraded: boolean
  readonly details: Readonly<Record<string, string | number>>
}

/** By component. */
export type HealthChecks = Readonly<Record<string, () => Promise<ComponentHealth>>>

/** Health of contributions of plugins. */
interface ContributionHealth {
  /** A round at once, then every 5 s. Does not keep the process alive. */
  start(): void
  /** Asks each contribution that does not still owe a result, one after the other. */
  round(): Promise<void>
  stop(): void
  /** The last results: they do not wait for a plugin. `ok` before the first one. */
  readonly checks: HealthChecks
}

const PRINTABLE = /^[^\p{Cc}]{1,300}$/u
const OK: ComponentHealth = { degraded: false, details: {} }
const degraded = (detail: string): ComponentHealth => ({ degraded: true, details: { detail } })

const stateOf = (result: unknown): ComponentHealth => {
  if (result === undefined) return OK
  const sentence = Reflect.get(Object(result), 'degraded')
  return typeof sentence === 'string' && PRINTABLE.test(sentence)
    ? degraded(sentence)
    : degraded('Its health function returned neither undefined nor { degraded }, a sentence.')
}

/** Asks contributions how they are. What one throws is in the log only. */
export const createContributionHealth = (
  { sources, log }: { readonly sources: readonly HealthSource[]; readonly log: Log },
  { timeoutMs = TIMEOUT_MS }: { readonly timeoutMs?: number } = {},
): ContributionHealth => {
  const stopping = new AbortController()
  const states = new Map<HealthSource, ComponentHealth>()

  const askerOf = (source: HealthSource): (() => Promise<void>) => {
    const sourceLog = log.child({ plugin: source.plugin, component: source.component })
    const throttle = createLogThrottle()
    const watch = createWatchBlocking(sourceLog)
    let isRunning = false
    const ask = async (signal: AbortSignal): Promise<unknown> => {
      isRunning = true
      try {
        return await source.health(signal)
      } finally {
        isRunning = false
      }
    }
    return async () => {
      if (isRunning) return
      try {
        states.set(source, stateOf(await watch(() => withTimeout(timeoutMs, ask))))
      } catch (err) {
        const isLate = err instanceof TimeoutError
        states.set(
          source,
          degraded(
            isLate
              ? `Its health function did not settle within ${timeoutMs / 1_000} s.`
              : 'Its health function failed; the log says why.',
          ),
        )
        if (!isLate && throttle('failed') !== undefined) sourceLog.warn({ err }, 'a health function failed')
      }
    }
  }
  const askers = sources.map(askerOf)

  const round = async (): Promise<void> => {
    // One after the other, so that the log names the one that blocks.
    for (const ask of askers) if (!stopping.signal.aborted) await ask()
  }

  const run = async (): Promise<void> => {
    const { signal } = stopping
    while (!signal.aborted) {
      await round()
      await delay(INTERVAL_MS, undefined, { ref: false, signal }).catch(() => {})
    }
  }

  return {
    start: () => {
      if (sources.length > 0) run()
    },
    round,
    stop: () => stopping.abort(),
    checks: Object.fromEntries(
      sources.map((source) => [source.component, async () => states.get(source) ?? OK]),
    ),
  }
}

/** All components; one that is in both is degraded if either is, with the details of both. */
export const mergeHealth = (some: HealthChecks, others: HealthChecks): HealthChecks => ({
  ...some,
  ...Object.fromEntries(
    Object.entries(others).map(([component, check]) => [
      component,
      async () => {
        const [own, other] = await Promise.all([some[component]?.() ?? OK, check()])
        return { degraded: own.degraded || other.degraded, details: { ...own.details, ...other.details } }
      },
    ]),
  ),
})
