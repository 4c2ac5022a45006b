import { AppError } from '../../common/errors.ts'
import type { Log } from '../../common/log.ts'
import { within } from '../../common/within.ts'
import type { OwnRoute } from '../http/app.ts'
import { JSON_TYPE } from '../http/problem.ts'

/** Resolves when a part can do its work; with `degraded` when it does so in a lesser way. */
export type Check = (signal: AbortSignal) => Promise<unknown>

interface PartStatus {
  readonly name: string
  readonly status: 'ok' | 'degraded' | 'failed'
}

const settle = async (name: string, check: Check, timeout: number, log: Log): Promise<PartStatus> => {
  try {
    const found = await within(timeout, check)
    return { name, status: found === 'degraded' ? 'degraded' : 'ok' }
  } catch (err) {
    log.warn({ err, part: name }, 'a part is not ready')
    return { name, status: 'failed' }
  }
}

/**
 * `/healthz`: this process answers. `/readyz`: every part answers within `timeout` ms; 200 or 503, with the parts by
 * name and nothing about why (that is in the log). Degraded is ready: whoever takes a replica out of service that serves
 * correctly makes a slow day a dark one.
 */
export const healthRoutes = (
  checks: Readonly<Record<string, Check>>,
  { log, timeout }: { readonly log: Log; readonly timeout: number },
): readonly OwnRoute[] => [
  {
    path: '/healthz',
    name: 'healthz',
    handler: async (_request, reply) => reply.type(JSON_TYPE).send('{"status":"ok"}'),
  },
  {
    path: '/readyz',
    name: 'readyz',
    handler: async (_request, reply) => {
      const parts = await Promise.all(
        Object.entries(checks).map(([name, check]) => settle(name, check, timeout, log)),
      )
      const failed = parts.filter(({ status }) => status === 'failed').map(({ name }) => name)
      reply.type(JSON_TYPE)
      if (failed.length === 0) {
        const degraded = parts.some(({ status }) => status === 'degraded')
        return reply.send(JSON.stringify({ status: degraded ? 'degraded' : 'ok', parts }))
      }
      const problem = new AppError(
        'overloaded',
        `Not ready: ${failed.join(', ')}. Wait, or look into the log.`,
      )
      return reply
        .code(problem.status)
        .send(JSON.stringify({ ...problem.toProblem(), title: 'Not ready', parts }))
    },
  },
]
