import type { Child } from './child.ts'
import type { ChildRules, Slots } from './child-rules.ts'
import type { Job } from './job.ts'

interface Deps {
  readonly slots: Slots
  /** Whether the tenant's programs must not share a child with those of others. */
  readonly separated: (tenantId: string) => boolean
  /** Whether the queue has jobs of such a tenant. */
  readonly separatedWait: () => boolean
}

/** Rules of a pool whose children serve all tenants. */
interface Reservations extends ChildRules {
  /** Runs a job again alone, at best in this slot, whose child died. */
  runAlone(job: Job, slot: number): void
}

/**
 * Children that take certain jobs only:
 *
 * - A job runs again alone when a child with programs of several tenants died while it ran that job. Its child is new
 *   and takes nothing else, so that another death proves who is the cause. There is one such child at a time.
 * - The last child takes no other jobs while there are jobs of separated tenants.
 * - A job whose program is not trusted runs in the last child only.
 *
 * At least one child remains for the other jobs, unless there is only one.
 */
export const createReservations = ({ slots, separated, separatedWait }: Deps): Reservations => {
  const last = slots.length - 1
  const alone = new Set<Job>()
  let slotOfFirst = 0
  /** Slot of the child for `alone`. */
  let aloneSlot: number | undefined
  /** Whether the last child is for separated tenants. */
  let separate = false

  const isSeparated = ({ source }: Job): boolean => separated(source.tenantId)
  const isUnused = ({ jobs, programs, busy }: Child): boolean => jobs.size === 0 && programs === 0 && !busy

  return {
    runAlone: (job, slot) => {
      if (alone.size === 0) slotOfFirst = slot
      alone.add(job)
    },
    /** Reserves children for the current jobs. */
    update: () => {
      for (const job of alone) if (job.over) alone.delete(job)
      aloneSlot = alone.size > 0 ? slotOfFirst : undefined
      const others = slots.length - (aloneSlot === undefined ? 1 : 2)
      separate =
        others > 0 &&
        aloneSlot !== last &&
        ([...(slots[last]?.jobs.values() ?? [])].some(isSeparated) || separatedWait())
    },
    permit: (child, job, trusted) => {
      const slot = slots.indexOf(child)
      if (alone.has(job)) return slot === aloneSlot && isUnused(child)
      if (slot === aloneSlot) return false
      if (isSeparated(job)) return slot === last && (!separate || [...child.jobs.values()].every(isSeparated))
      if (separate) return slot !== last
      return slot === last || trusted || aloneSlot === last
    },
    /** The child of a job that runs alone, when it has had other programs. */
    childToReplaceFor: (job) => {
      const child = aloneSlot === undefined ? undefined : slots[aloneSlot]
      return alone.has(job) && child !== undefined && !isUnused(child) ? child : undefined
    },
  }
}
