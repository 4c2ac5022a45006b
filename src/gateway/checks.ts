/** Runs the checks of plugins on proxied calls (completions §18). */
import { AppError } from '../common/errors.ts'
import { Type } from '../common/json-schema.ts'
import type { Log } from '../common/log.ts'
import { createLogThrottle } from '../common/log-throttle.ts'
import type { Metrics } from '../common/metrics.ts'
import { compileValidator } from '../common/validate.ts'
import { createWatchBlocking } from '../common/watch-blocking.ts'
import { TimeoutError, withTimeout } from '../common/with-timeout.ts'
import type { PluginCheck } from '../kernel/types.ts'
import type { Check, CheckedCall, CheckVerdict } from '../sdk/index.ts'

type Decided =
  | { readonly verdict: 'allowed' | 'failed' | 'timed_out' }
  | { readonly verdict: 'labeled'; readonly labels: Readonly<Record<string, string>> }
  | { readonly verdict: 'denied'; readonly code: string; readonly detail: string }

/** Result of one check on one call, and its milliseconds. */
export type CheckResult = Decided & { readonly ms: number }

export interface RunningCheck extends Pick<Check, 'name' | 'on' | 'fail'> {
  /**
   * Never rejects: a check that throws, or returns no verdict, has failed. `limit`: ms after which it has timed out,
   * where its own timeout is longer.
   */
  run(call: CheckedCall, limit: number): Promise<CheckResult>
}

/** Checks by the part of a call that they are on, in their order. */
export type Checks = Readonly<Record<Check['on'], readonly RunningCheck[]>>

interface CheckDeps {
  readonly log: Log
  readonly metrics: Metrics
  /** ms of a monotonic clock. */
  readonly now?: () => number
}

/** ms of all checks that a call waits for at one time: less than Envoy waits for the gateway. */
export const TOTAL_MS = 5_000
const DEFAULT_TIMEOUT_MS = 250
/** ms before its first await from which on a check is reported. */
const BLOCKED_MS = 50

const PRINTABLE = String.raw`^[^\u0000-\u001f\u007f-\u009f]*$`

const Labels = Type.Record(Type.String(), Type.String({ maxLength: 200, pattern: PRINTABLE }), {
  maxProperties: 10,
  propertyNames: { pattern: '^[A-Za-z0-9_.-]{1,50}$' },
})

const Denial = Type.Object(
  {
    code: Type.String({ pattern: '^[a-z][a-z0-9_]{0,49}$' }),
    detail: Type.String({ minLength: 1, maxLength: 300, pattern: PRINTABLE }),
  },
  { additionalProperties: false },
)

/** A verdict has exactly one member. */
const Verdict = Type.Object(
  { labels: Type.Optional(Labels), deny: Type.Optional(Denial) },
  { additionalProperties: false, minProperties: 1, maxProperties: 1 },
)

const resultOf = (verdict: CheckVerdict | undefined): Decided => {
  if (verdict === undefined) return { verdict: 'allowed' }
  return 'deny' in verdict
    ? { verdict: 'denied', ...verdict.deny }
    : { verdict: 'labeled', labels: { ...verdict.labels } }
}

/** Checks as the gateway runs them. Undefined: none is declared. */
export const createChecks = (
  declared: readonly PluginCheck[],
  { log, metrics, now = () => performance.now() }: CheckDeps,
): Checks | undefined => {
  if (declared.length === 0) return undefined
  const issuesOf = compileValidator(Verdict)
  const throttle = createLogThrottle(now)

  const runnerOf = ({ plugin, check }: PluginCheck): RunningCheck => {
    const { name, on, fail, timeout_ms = DEFAULT_TIMEOUT_MS } = check
    const watch = createWatchBlocking(log.child({ plugin, check: name }))
    const seconds = metrics.checks.seconds.labels({ check: name })
    const warn = (kind: string, message: string, more: object) => {
      const suppressed = throttle(`${kind} ${name}`)
      if (suppressed !== undefined) log.warn({ plugin, check: name, ...more, suppressed }, message)
    }
    const handle = (call: CheckedCall, signal: AbortSignal): Promise<CheckVerdict | undefined> => {
      const start = now()
      const deciding = check.handle(call, signal)
      const ms = Math.round(now() - start)
      if (ms >= BLOCKED_MS) warn('blocked', 'a check blocked the event loop', { ms })
      // What it does after an await.
      return watch(() => deciding)
    }
    const decide = async (call: CheckedCall, limit: number): Promise<Decided> => {
      const timeout = Math.min(timeout_ms, limit)
      try {
        const verdict = await withTimeout(timeout, (signal) => handle(call, signal))
        const issues = verdict === undefined ? undefined : issuesOf(verdict)
        if (issues === undefined) return resultOf(verdict)
        warn('failed', 'a check returned no valid verdict', { errors: issues.errors })
        return { verdict: 'failed' }
      } catch (err) {
        if (err instanceof TimeoutError) {
          warn('timeout', 'a check did not decide in time', { timeout_ms: timeout })
          return { verdict: 'timed_out' }
        }
        warn('failed', 'a check failed', { err })
        return { verdict: 'failed' }
      }
    }
    return {
      name,
      on,
      fail,
      run: async (call, limit) => {
        const start = now()
        const decided = await decide(call, limit)
        const ms = now() - start
        seconds.observe(ms / 1000)
        metrics.checks.total.inc({ check: name, outcome: decided.verdict })
        return { ...decided, ms: Math.round(ms * 1000) / 1000 }
      },
    }
  }

  const checks = declared.map(runnerOf)
  return {
    request: checks.filter(({ on }) => on === 'request'),
    response: checks.filter(({ on }) => on === 'response'),
  }
}

/** The error of a call that a result ends; undefined: it continues. */
export const checkError = ({ name, on, fail }: RunningCheck, result: CheckResult): AppError | undefined => {
  if (result.verdict === 'denied')
    return new AppError('denied_by_plugin', result.detail, { errors: { check: [result.code] } })
  const isDecided = result.verdict === 'allowed' || result.verdict === 'labeled'
  if (isDecided || fail === 'open') return undefined
  return new AppError(
    'check_unavailable',
    `The check "${name}" did not decide about the call, which is rejected. ${on === 'response' ? 'The destination received the request.' : 'Retry.'}`,
  )
}
