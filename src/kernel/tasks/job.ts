import type { Job } from '../../sdk/index.ts'
import type { TaskRow } from '../../store/tasks/types.ts'
import { attempt } from './attempt.ts'
import type { TaskDeps, Visit } from './types.ts'

/** True when a run is due. A run whose process was killed counts; one that a stop interrupted does not. */
const isDue = (
  { every }: Pick<Job, 'every'>,
  { started_at, outcome }: Pick<TaskRow, 'started_at' | 'outcome'>,
  now: number,
): boolean => started_at === null || outcome === 'interrupted' || now >= started_at + every * 1_000

/** Runs a job when it is due, under a lease for each run. `onRun` gets the outcome of each run of this process. */
export const createJobVisit = (
  { store, leases, log, watch, stopping }: TaskDeps,
  job: Job,
  onRun: (outcome: string) => void,
): Visit => {
  /** A run that ignored its signal when its lease was lost may still be there. */
  let isRunning = false

  const run = async (signal: AbortSignal): Promise<void> => {
    isRunning = true
    try {
      await watch(() => job.run(signal))
    } finally {
      isRunning = false
    }
  }

  return async ({ row, now, isForced }) => {
    if (isRunning || row.leased_until > now || !(isForced || isDue(job, row, now))) return
    const lease = await leases.acquire(row)
    if (lease === undefined) return
    try {
      const startedAt = performance.now()
      const { outcome, err } = await attempt(run, { stopping, lost: lease.lost })
      const duration = Math.round(performance.now() - startedAt)
      onRun(outcome)
      if (outcome === 'lost') {
        log.warn({ duration }, 'job lost its lease; another process may run it')
        return
      }
      if (outcome === 'failed') log.error({ err, duration }, 'job failed')
      const started_at = lease.row.started_at ?? now
      await store.tasks.settle(lease.row, { outcome, started_at, duration, release: true })
    } finally {
      lease.lose()
    }
  }
}
