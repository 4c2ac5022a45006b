import type { Store } from '../../store/store.ts'
import type { LeasedTask, TaskRow } from '../../store/tasks/types.ts'

/** Duration of a lease, and the time after which it is renewed, ms. */
const LEASE_MS = 30_000
const RENEW_MS = 10_000

/** The right of this process to run a task. */
export interface Lease {
  /** The row as it was acquired. */
  readonly row: TaskRow
  /** Aborted when another process may have the task. */
  readonly lost: AbortSignal
  /** Ends it in this process. */
  lose(): void
}

/** Leases of this process. */
export interface Leases {
  /** Undefined when another process was first. `task`: as it was read. */
  acquire(task: LeasedTask): Promise<Lease | undefined>
  /** Renews all leases when that is due. */
  renew(): Promise<void>
  /** Ends all leases, here and in the store. */
  release(): Promise<void>
}

/**
 * A lease lasts by the clock of the store, and ends here no later than there: its time here starts before the store is
 * asked for its own. `holder`: unique among the running processes of the store.
 */
export const createLeases = ({ tasks, time }: Pick<Store, 'tasks' | 'time'>, holder: string): Leases => {
  const timers = new Map<Lease, NodeJS.Timeout>()
  let renewedAt = 0

  const endAt = (lease: Lease, ms: number): void => {
    clearTimeout(timers.get(lease))
    timers.set(lease, setTimeout(lease.lose, ms - performance.now()).unref())
  }

  return {
    acquire: async ({ kind, name, lease_number }) => {
      const askedAt = performance.now()
      const now = await time()
      const row = await tasks.acquire({ kind, name, lease_number }, { holder, now, until: now + LEASE_MS })
      if (row === undefined) return undefined
      const losing = new AbortController()
      const lease: Lease = {
        row,
        lost: losing.signal,
        lose: () => {
          clearTimeout(timers.get(lease))
          timers.delete(lease)
          losing.abort()
        },
      }
      endAt(lease, askedAt + LEASE_MS)
      return lease
    },
    renew: async () => {
      const askedAt = performance.now()
      if (timers.size === 0 || askedAt < renewedAt + RENEW_MS) return
      const leases = [...timers.keys()]
      const now = await time()
      const renewed = await tasks.renew(
        leases.map(({ row: { kind, name, lease_number } }) => ({ kind, name, lease_number })),
        now + LEASE_MS,
      )
      renewedAt = askedAt
      for (const [at, lease] of leases.entries()) {
        // It may have ended here since it was asked for.
        if (!timers.has(lease)) continue
        if (renewed[at]) endAt(lease, askedAt + LEASE_MS)
        else lease.lose()
      }
    },
    release: async () => {
      for (const lease of [...timers.keys()]) lease.lose()
      await tasks.release(holder)
    },
  }
}
