import { type Clock, isoTime } from '../../common/clock.ts'
import { AppError } from '../../common/errors.ts'
import type { Log } from '../../common/log.ts'
import { withTimeout } from '../../common/with-timeout.ts'
import { JSON_TYPE } from '../http/problem.ts'
import type { OwnRoute } from '../http/types.ts'

/** Resolves when a component works; with `'degraded'` or an object (`Limits`) when it works with limits. */
export type Check = (signal: AbortSignal) => Promise<unknown>

type Status = 'ok' | 'degraded' | 'failed'

interface Limits {
  /** Features that are not available: with any, it is degraded. */
  readonly missing?: readonly string[]
  readonly degraded?: boolean
  /** Further members of the component in `/readyz`. */
  readonly details?: Readonly<Record<string, string | number>>
}

interface ComponentStatus {
  readonly name: string
  readonly status: Status
  /** Features that are not available. */
  readonly missing?: readonly string[]
  /** Start of the state, for a component that is not `ok`. */
  readonly since?: string
}

const look = async (
  check: Check,
  timeout: number,
): Promise<Pick<Limits, 'missing' | 'details'> & { readonly status: Status; readonly err?: unknown }> => {
  try {
    const result = await withTimeout(timeout, check)
    const { missing = [], degraded = result === 'degraded', details = {} } = (result ?? {}) as Limits
    if (missing.length > 0) return { status: 'degraded', missing, details }
    return { status: degraded ? 'degraded' : 'ok', details }
  } catch (err) {
    return { status: 'failed', err }
  }
}

/** Logs once when a component fails or degrades, and once when it recovers. */
const createComponents = (
  checks: Readonly<Record<string, Check>>,
  { log, timeout, clock }: HealthOptions,
): (() => Promise<readonly ComponentStatus[]>) => {
  const unhealthy = new Map<string, { readonly status: Status; readonly at: number }>()
  const checkOne = async (component: string, check: Check): Promise<ComponentStatus> => {
    const { status, missing, details, err } = await look(check, timeout)
    const before = unhealthy.get(component)
    const now = clock.now()
    if (status === 'ok') {
      if (before) log.info({ component, was: before.status, ms: now - before.at }, 'component recovered')
      unhealthy.delete(component)
      return { name: component, status, ...details }
    }
    const at = before?.status === status ? before.at : now
    if (before?.status !== status) {
      if (status === 'failed') log.warn({ err, component }, 'component failed')
      else log.warn({ component, missing, detail: details?.detail }, 'component degraded')
    }
    unhealthy.set(component, { status, at })
    return { name: component, status, ...(missing ? { missing } : {}), since: isoTime(at), ...details }
  }
  return () => Promise.all(Object.entries(checks).map(([component, check]) => checkOne(component, check)))
}

interface HealthOptions {
  readonly log: Log
  readonly timeout: number
  readonly clock: Clock
}

/**
 * `/healthz`: this process responds. `/readyz`: all components respond within `timeout` ms; 200 or 503, with each
 * component's name and the start of its state. The cause is in the log only. Degraded is ready: to take slow replicas
 * out of service makes an outage of a slowdown.
 */
export const healthRoutes = (
  checks: Readonly<Record<string, Check>>,
  options: HealthOptions,
): readonly OwnRoute[] => {
  const checkAll = createComponents(checks, options)
  return [
    {
      path: '/healthz',
      name: 'healthz',
      handler: async (_request, reply) => reply.type(JSON_TYPE).send('{"status":"ok"}'),
    },
    {
      path: '/readyz',
      name: 'readyz',
      handler: async (_request, reply) => {
        const components = await checkAll()
        const failed = components.filter(({ status }) => status === 'failed').map(({ name }) => name)
        reply.type(JSON_TYPE)
        if (failed.length === 0) {
          const degraded = components.some(({ status }) => status === 'degraded')
          return reply.send(JSON.stringify({ status: degraded ? 'degraded' : 'ok', components }))
        }
        const problem = new AppError('overloaded', `Not ready: ${failed.join(', ')}. Wait, or read the log.`)
        return reply
          .code(problem.status)
          .send(JSON.stringify({ ...problem.toProblem(), title: 'Not ready', components }))
      },
    },
  ]
}
