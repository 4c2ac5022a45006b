import { type Clock, isoTime } from '../../common/clock.ts'
import { AppError } from '../../common/errors.ts'
import type { Log } from '../../common/log.ts'
import { withTimeout } from '../../common/with-timeout.ts'
import { JSON_TYPE } from '../http/problem.ts'
import type { OwnRoute } from '../http/types.ts'

/** Resolves when a component works; with `degraded` or `missing` when it works with limits. */
export type Check = (signal: AbortSignal) => Promise<unknown>

type Status = 'ok' | 'degraded' | 'failed'

interface PartStatus {
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
): Promise<Pick<PartStatus, 'status' | 'missing'> & { readonly err?: unknown }> => {
  try {
    const result = await withTimeout(timeout, check)
    const { missing = [] } = (result ?? {}) as { readonly missing?: readonly string[] }
    if (missing.length > 0) return { status: 'degraded', missing }
    return { status: result === 'degraded' ? 'degraded' : 'ok' }
  } catch (err) {
    return { status: 'failed', err }
  }
}

/** Logs once when a component fails or degrades, and once when it recovers. */
const createParts = (
  checks: Readonly<Record<string, Check>>,
  { log, timeout, clock }: HealthOptions,
): (() => Promise<readonly PartStatus[]>) => {
  const ill = new Map<string, { readonly status: Status; readonly at: number }>()
  const ask = async (part: string, check: Check): Promise<PartStatus> => {
    const { status, missing, err } = await look(check, timeout)
    const before = ill.get(part)
    const now = clock.now()
    if (status === 'ok') {
      if (before) log.info({ part, was: before.status, ms: now - before.at }, 'a part is well again')
      ill.delete(part)
      return { name: part, status }
    }
    const at = before?.status === status ? before.at : now
    if (before?.status !== status) {
      if (status === 'failed') log.warn({ err, part }, 'a part is not ready')
      else log.warn({ part, missing }, 'a part does its work in a lesser way')
    }
    ill.set(part, { status, at })
    return { name: part, status, ...(missing ? { missing } : {}), since: isoTime(at) }
  }
  return () => Promise.all(Object.entries(checks).map(([part, check]) => ask(part, check)))
}

interface HealthOptions {
  readonly log: Log
  readonly timeout: number
  readonly clock: Clock
}

/**
 * `/healthz`: this process responds. `/readyz`: all components respond within `timeout` ms; 200 or 503, with each component's
 * name and the start of its state. The cause is in the log only. Degraded is ready: to take slow replicas out of service
 * makes an outage of a slowdown.
 */
export const healthRoutes = (
  checks: Readonly<Record<string, Check>>,
  options: HealthOptions,
): readonly OwnRoute[] => {
  const askAll = createParts(checks, options)
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
        const parts = await askAll()
        const failed = parts.filter(({ status }) => status === 'failed').map(({ name }) => name)
        reply.type(JSON_TYPE)
        if (failed.length === 0) {
          const degraded = parts.some(({ status }) => status === 'degraded')
          return reply.send(JSON.stringify({ status: degraded ? 'degraded' : 'ok', parts }))
        }
        const problem = new AppError('overloaded', `Not ready: ${failed.join(', ')}. Wait, or read the log.`)
        return reply
          .code(problem.status)
          .send(JSON.stringify({ ...problem.toProblem(), title: 'Not ready', parts }))
      },
    },
  ]
}
