import { LRUCache } from 'lru-cache'
import { createFairClock, type FairClock } from './fair-queue.ts'
import type { Job, Source } from './job.ts'
import type { TrustLevel } from './trust.ts'

/** Queued jobs: in total, of one tenant, of one program. Trusted programs are queued beyond the limits of others. */
const MAX_WAITING = { trusted: 4_000, unknown: 2_000, suspect: 2_000 } as const
const MAX_OF_TENANT = { trusted: 1_000, unknown: 500, suspect: 500 } as const
const MAX_OF_PROGRAM = { trusted: 500, unknown: 500, suspect: 64 } as const
/** Tenants whose programs' use is remembered. */
const MAX_RETAINED = 1_000

/** Queued jobs of a tenant by program, each list in order of arrival. */
interface Row {
  readonly tenantId: string
  readonly programs: Map<string, Job[]>
  size: number
}

/** Sorted by use of the children's time, least first. */
const byUse = <T>(waiting: Iterable<T>, markOf: (each: T) => number): readonly T[] => {
  const all = [...waiting]
  return all.length < 2 ? all : all.sort((a, b) => markOf(a) - markOf(b))
}

/**
 * Queue of jobs. The children's time is shared fairly among tenants, and among the programs of a tenant: the one with
 * less use goes first. So a flood or slow code delays others by at most its one running job in a child.
 */
export const createQueue = () => {
  const rows = new Map<string, Row>()
  const tenants = createFairClock()
  const programs = new LRUCache<string, FairClock>({ max: MAX_RETAINED })
  let size = 0

  const rowOf = (tenantId: string): Row => {
    const row = rows.get(tenantId) ?? { tenantId, programs: new Map(), size: 0 }
    rows.set(tenantId, row)
    return row
  }

  const resize = (row: Row, by: number): void => {
    row.size += by
    size += by
    if (row.size === 0) rows.delete(row.tenantId)
  }

  /** The program's first job that has not ended; drops ended jobs, and the program when none is left. */
  const firstOf = (row: Row, key: string, jobs: Job[]): Job | undefined => {
    const index = jobs.findIndex(({ over }) => !over)
    const dropped = jobs.splice(0, index < 0 ? jobs.length : index)
    if (jobs.length === 0) row.programs.delete(key)
    resize(row, -dropped.length)
    return jobs[0]
  }

  const sharesIn = (tenantId: string): FairClock => {
    const shares = programs.get(tenantId) ?? createFairClock()
    programs.set(tenantId, shares)
    return shares
  }

  const take = (row: Row, key: string, jobs: Job[]): void => {
    jobs.shift()
    if (jobs.length === 0) row.programs.delete(key)
    resize(row, -1)
    tenants.turn(row.tenantId)
    sharesIn(row.tenantId).turn(key)
  }

  return {
    get size() {
      return size
    },
    /** Whether a tenant with jobs fits; its jobs may have ended. */
    hasTenant: (fits: (tenantId: string) => boolean): boolean => {
      for (const tenantId of rows.keys()) if (fits(tenantId)) return true
      return false
    },
    /** False when the queue is full for a job of this trust level. */
    add: (job: Job, level: TrustLevel): boolean => {
      const { tenantId, key } = job.source
      const known = rows.get(tenantId)
      const jobs = known?.programs.get(key) ?? []
      if (size >= MAX_WAITING[level]) return false
      if (known !== undefined && known.size >= MAX_OF_TENANT[level]) return false
      if (jobs.length >= MAX_OF_PROGRAM[level]) return false
      const row = rowOf(tenantId)
      jobs.push(job)
      row.programs.set(key, jobs)
      resize(row, 1)
      return true
    },
    /** Requeues a job in front of all of its tenant's, even when the queue is full. */
    again: (job: Job): void => {
      const { tenantId, key } = job.source
      const row = rowOf(tenantId)
      const others = [...row.programs].filter(([other]) => other !== key)
      const own = [job, ...(row.programs.get(key) ?? [])]
      row.programs.clear()
      for (const [each, jobs] of [[key, own] as const, ...others]) row.programs.set(each, jobs)
      resize(row, 1)
    },
    /** The next job of a program that `fits`; drops ended jobs on the way. */
    next: (fits: (job: Job) => boolean): Job | undefined => {
      for (const row of byUse(rows.values(), ({ tenantId }) => tenants.markOf(tenantId))) {
        const shares = sharesIn(row.tenantId)
        for (const [key, jobs] of byUse(row.programs, ([each]) => shares.markOf(each))) {
          const job = firstOf(row, key, jobs)
          if (job === undefined || !fits(job)) continue
          take(row, key, jobs)
          return job
        }
      }
      return undefined
    },
    /** Charges a program and its tenant for time in a child. */
    charge: ({ tenantId, key }: Pick<Source, 'tenantId' | 'key'>, ms: number): void => {
      tenants.charge(tenantId, ms)
      sharesIn(tenantId).charge(key, ms)
    },
    clear: (): readonly Job[] => {
      const all = [...rows.values()].flatMap(({ programs }) => [...programs.values()].flat())
      rows.clear()
      size = 0
      return all
    },
  }
}

export type Queue = ReturnType<typeof createQueue>
