import type { Consumer } from '../../sdk/index.ts'
import { entryOf } from '../services/logs.ts'
import { attempt } from './attempt.ts'
import type { Lease } from './leases.ts'
import { retryDelay } from './retry-delay.ts'
import type { TaskDeps, Visit } from './types.ts'

const TIMEOUT_MS = 60_000

/** Delivers records to a consumer while this process has its lease, which it keeps. */
export const createConsumerVisit = (
  { store, leases, log, watch, stopping }: TaskDeps,
  consumer: Consumer,
): Visit => {
  let lease: Lease | undefined
  let position = 0
  let failures = 0
  let retryAt = 0

  const failed = (outcome: string, err: unknown): void => {
    failures++
    const retryMs = retryDelay(failures)
    retryAt = performance.now() + retryMs
    log.error({ err, outcome, failures, retryMs }, 'consumer failed; its records are delivered again')
  }

  /** Delivers the next records; true when there may be more. `origin`: the store's time of this process's time 0. */
  const deliver = async ({ row, lost, lose }: Lease, origin: number): Promise<boolean> => {
    const rows = await store.logs.after(position)
    const last = rows.at(-1)
    if (last === undefined) return false
    const records = Object.freeze(rows.map(entryOf))
    const startedAt = performance.now()
    const { outcome, err } = await attempt((signal) => watch(() => consumer.handle(records, signal)), {
      stopping,
      lost,
      timeout: TIMEOUT_MS,
    })
    if (outcome === 'lost') {
      log.warn('consumer lost its lease; another process delivers its records again')
      return false
    }
    if (outcome === 'interrupted') return false
    const duration = Math.round(performance.now() - startedAt)
    const run = { outcome, started_at: Math.round(origin + startedAt), duration, release: false }
    if (outcome !== 'ok') {
      failed(outcome, err)
      // For other processes to report; this one goes on either way.
      await store.tasks.settle(row, run).catch(() => {})
      return false
    }
    if (!(await store.tasks.settle(row, { ...run, position: last.seq }))) {
      lose()
      return false
    }
    if (failures > 0) log.info({ failures }, 'consumer recovered')
    failures = 0
    position = last.seq
    return !stopping.aborted
  }

  /** Counts the records until `newest` as handled, when the consumer wants none. */
  const skip = async ({ row, lose }: Lease, newest: number, now: number): Promise<boolean> => {
    if (consumer.isIdle === undefined || !(await consumer.isIdle())) return false
    const run = { outcome: 'ok', started_at: Math.round(now), duration: 0, release: false } as const
    if (await store.tasks.settle(row, { ...run, position: newest })) position = newest
    else lose()
    return true
  }

  return async ({ row, now, newest, isForced }) => {
    const visitedAt = performance.now()
    if (lease === undefined || lease.lost.aborted) {
      lease = row.leased_until <= now ? await leases.acquire(row) : undefined
      if (lease === undefined) return
      position = lease.row.position
    }
    if (newest <= position || (visitedAt < retryAt && !isForced)) return
    try {
      // `newest` is older than what makes the consumer want records.
      if (await skip(lease, newest, now)) return
      while (await deliver(lease, now - visitedAt));
    } catch (err) {
      // The store: its errors count as the consumer's, whose records it may not have marked as handled.
      failed('failed', err)
    }
  }
}
