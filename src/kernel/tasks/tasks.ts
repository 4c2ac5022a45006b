import { setTimeout as delay } from 'node:timers/promises'
import { Counter, Gauge, type Registry } from '@prometheus-io/client'
import { isoTime, untilNext } from '../../common/clock.ts'
import type { Log } from '../../common/log.ts'
import { createLogThrottle } from '../../common/log-throttle.ts'
import { createWatchBlocking } from '../../common/watch-blocking.ts'
import { withTimeout } from '../../common/with-timeout.ts'
import type { Store } from '../../store/store.ts'
import type { TaskRow } from '../../store/tasks/types.ts'
import type { ComponentHealth, HealthChecks } from '../contribution-health.ts'
import type { Task } from '../types.ts'
import { createConsumerVisit } from './consumer.ts'
import { createJobVisit } from './job.ts'
import { createLeases } from './leases.ts'
import type { TaskDeps, Visit } from './types.ts'

/** ms between two rounds. */
const ROUND_MS = 1_000
/** ms between two writes that the tasks are present, and until an absent one is removed. */
const PRESENT_MS = 60 * 60_000
const ABSENT_MS = 30 * 24 * 60 * 60_000
/** ms for running tasks at a stop. */
const STOP_MS = 3_000

interface TasksDeps {
  readonly store: Pick<Store, 'tasks' | 'logs' | 'time'>
  readonly tasks: readonly Task[]
  readonly registry: Registry
  readonly log: Log
}

/** Consumers and jobs of plugins. */
interface Tasks {
  /** A round each second. Does not keep the process alive. */
  start(): void
  /** Resolves when positions of new consumers are stored; `start` does the same. */
  register(): Promise<void>
  /** Starts what is due, with `all` also what is not, and resolves when it has ended. */
  round(which?: 'all'): Promise<void>
  /** Aborts what runs, and waits for it (bounded). */
  stop(): Promise<void>
  /** By component: the last run in any process. */
  readonly checks: HealthChecks
}

const isOf = (task: Pick<Task, 'kind' | 'name'>) => (row: TaskRow) =>
  row.kind === task.kind && row.name === task.name

/** Concurrent reads share one. */
const shared = <T>(read: () => Promise<T>): (() => Promise<T>) => {
  let reading: Promise<T> | undefined
  return () => {
    reading ??= read().finally(() => {
      reading = undefined
    })
    return reading
  }
}

/**
 * Runs consumers and jobs. `holder`: unique among the running processes of the store. Without any task, only old
 * positions are removed at start.
 */
export const createTasks = ({ store, tasks, registry, log }: TasksDeps, holder: string): Tasks => {
  const stopping = new AbortController()
  const leases = createLeases(store, holder)
  const throttle = createLogThrottle()
  const running = new Set<Promise<void>>()
  const busy = new Set<Task>()
  const readState = shared(() => store.tasks.state())
  const runs =
    tasks.length === 0
      ? undefined
      : new Counter({
          name: 'sidevault_job_runs_total',
          help: 'Runs of jobs of plugins in this process, by outcome: ok, failed, interrupted (by a stop), lost (another process may run it).',
          labelNames: ['job', 'outcome'] as const,
          registers: [registry],
        })

  const visitOf = (task: Task): Visit => {
    const taskLog = log.child({ plugin: task.plugin, [task.kind]: task.name })
    const deps: TaskDeps = {
      ...{ store, leases, stopping: stopping.signal },
      log: taskLog,
      watch: createWatchBlocking(taskLog),
    }
    return task.kind === 'consumer'
      ? createConsumerVisit(deps, task.consumer)
      : createJobVisit(deps, task.job, (outcome) => runs?.inc({ job: task.name, outcome }))
  }
  const visits = new Map(tasks.map((task) => [task, visitOf(task)]))

  const report = (err: unknown): void => {
    const suppressed = throttle('round')
    if (suppressed !== undefined)
      log.error({ err, ...(suppressed > 0 ? { suppressed } : {}) }, 'consumers and jobs cannot run; retrying')
  }

  let presentAt = Number.NEGATIVE_INFINITY
  const register = async (): Promise<void> => {
    const at = performance.now()
    if (at < presentAt + PRESENT_MS) return
    // Leases of a process of this name that was killed.
    if (presentAt < 0 && tasks.length > 0) await leases.release()
    const now = await store.time()
    await store.tasks.register(
      tasks.map((task) => ({
        kind: task.kind,
        name: task.name,
        ...(task.kind === 'consumer' ? { from: task.consumer.from } : {}),
      })),
      { now, purgeBefore: now - ABSENT_MS },
    )
    presentAt = at
  }

  /** Starts what is due; returns what it started. */
  const startDue = async (isForced = false): Promise<readonly Promise<void>[]> => {
    await register()
    if (tasks.length === 0) return []
    await leases.renew()
    const { tasks: rows, newest } = await store.tasks.state()
    const now = await store.time()
    if (stopping.signal.aborted) return []
    return [...visits].flatMap(([task, visit]) => {
      const row = rows.find(isOf(task))
      if (row === undefined || busy.has(task)) return []
      busy.add(task)
      const visiting = visit({ row, now, newest, isForced })
        .catch(report)
        .finally(() => {
          busy.delete(task)
          running.delete(visiting)
        })
      running.add(visiting)
      return [visiting]
    })
  }

  let loop: Promise<void> = Promise.resolve()
  const run = async (): Promise<void> => {
    const { signal } = stopping
    do {
      await startDue().catch(report)
      await delay(untilNext(ROUND_MS), undefined, { ref: false, signal }).catch(() => {})
    } while (!signal.aborted && (tasks.length > 0 || presentAt < 0))
  }

  /** Seconds that the oldest record has waited for the consumer. */
  const lagOf = async ({ position }: TaskRow, now: number): Promise<number> =>
    Math.max(0, now - ((await store.logs.createdAfter(position)) ?? now)) / 1_000

  const healthOf = async (task: Task): Promise<ComponentHealth> => {
    const row = (await readState()).tasks.find(isOf(task))
    const now = await store.time()
    if (row === undefined) return { degraded: false, details: {} }
    // Of a job without an outcome, the process was killed when its lease has ended.
    const outcome = row.outcome ?? (row.leased_until > now ? 'running' : 'interrupted')
    return {
      degraded: row.started_at !== null && !['ok', 'running'].includes(outcome),
      details: {
        ...(row.started_at === null ? {} : { last_run: isoTime(row.started_at), outcome }),
        ...(row.duration === null ? {} : { duration_ms: row.duration }),
        ...(task.kind === 'consumer' ? { lag_seconds: await lagOf(row, now) } : {}),
      },
    }
  }

  const consumers = tasks.filter(({ kind }) => kind === 'consumer')
  if (consumers.length > 0)
    new Gauge({
      name: 'sidevault_consumer_lag_seconds',
      help: 'Time for which the oldest record that a consumer of a plugin has not handled has been there.',
      labelNames: ['consumer'] as const,
      aggregator: 'max',
      registers: [registry],
      async collect() {
        try {
          const { tasks: rows } = await readState()
          const now = await store.time()
          for (const row of rows.filter((row) => consumers.some((task) => isOf(task)(row))))
            this.set({ consumer: row.name }, await lagOf(row, now))
        } catch {
          // The store's own metrics report it.
          this.reset()
        }
      },
    })

  return {
    start: () => {
      loop = run()
    },
    register,
    round: async (which) => {
      await Promise.all(await startDue(which === 'all'))
    },
    stop: async () => {
      stopping.abort()
      await loop
      if (tasks.length === 0) return
      await withTimeout(STOP_MS, () => Promise.all(running)).catch(() =>
        log.warn('shutdown timeout: stopping with consumers or jobs in progress'),
      )
      await leases.release().catch(report)
    },
    checks: Object.fromEntries(
      tasks.map((task) => [
        `${task.kind}:${task.name}`,
        // The store is a component of its own.
        () => healthOf(task).catch(() => ({ degraded: true, details: {} })),
      ]),
    ),
  }
}
