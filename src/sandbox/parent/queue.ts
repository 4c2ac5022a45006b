import type { Job } from './job.ts'
import type { Standing } from './reputation.ts'

/** Jobs that may wait: altogether, of one tenant, of one program. What has behaved finds room where others find none. */
const MAX_WAITING = { trusted: 4_000, unknown: 2_000, suspect: 2_000 } as const
const MAX_OF_TENANT = { trusted: 1_000, unknown: 500, suspect: 500 } as const
const MAX_OF_PROGRAM = { trusted: 500, unknown: 500, suspect: 64 } as const

/** What a tenant has waiting, by program; each list is in the order in which it came. */
interface Row {
  readonly tenantId: string
  readonly programs: Map<string, Job[]>
  size: number
}

/**
 * Jobs that wait for a child. Tenants take turns, and so do the programs of one tenant: nobody's flood makes others wait for
 * more than one of its jobs, and no program's flood the other programs of its tenant.
 */
export const createQueue = () => {
  const rows = new Map<string, Row>()
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

  /** The program's first job that is not over; those before it are dropped, and the program when there is none. */
  const firstOf = (row: Row, key: string, jobs: Job[]): Job | undefined => {
    const index = jobs.findIndex(({ over }) => !over)
    const dropped = jobs.splice(0, index < 0 ? jobs.length : index)
    if (jobs.length === 0) row.programs.delete(key)
    resize(row, -dropped.length)
    return jobs[0]
  }

  /** The program goes to the end of its tenant's row, the tenant to the end of all. */
  const take = (row: Row, key: string, jobs: Job[]): void => {
    jobs.shift()
    row.programs.delete(key)
    if (jobs.length > 0) row.programs.set(key, jobs)
    rows.delete(row.tenantId)
    rows.set(row.tenantId, row)
    resize(row, -1)
  }

  return {
    get size() {
      return size
    },
    /** False when there is no room for a job of this standing. */
    add: (job: Job, standing: Standing): boolean => {
      const { tenantId, key } = job.source
      const known = rows.get(tenantId)
      const jobs = known?.programs.get(key) ?? []
      if (size >= MAX_WAITING[standing]) return false
      if (known !== undefined && known.size >= MAX_OF_TENANT[standing]) return false
      if (jobs.length >= MAX_OF_PROGRAM[standing]) return false
      const row = rowOf(tenantId)
      jobs.push(job)
      row.programs.set(key, jobs)
      resize(row, 1)
      return true
    },
    /** Puts a job that has waited before in front of all of its tenant's, also when there is no room. */
    again: (job: Job): void => {
      const { tenantId, key } = job.source
      const row = rowOf(tenantId)
      const others = [...row.programs].filter(([other]) => other !== key)
      const own = [job, ...(row.programs.get(key) ?? [])]
      row.programs.clear()
      for (const [each, jobs] of [[key, own] as const, ...others]) row.programs.set(each, jobs)
      resize(row, 1)
    },
    /** The next job whose turn it is, of a program that `fits`; those that are over are dropped on the way. */
    next: (fits: (job: Job) => boolean): Job | undefined => {
      for (const row of rows.values())
        for (const [key, jobs] of row.programs) {
          const job = firstOf(row, key, jobs)
          if (job === undefined || !fits(job)) continue
          take(row, key, jobs)
          return job
        }
      return undefined
    },
    clear: (): readonly Job[] => {
      const all = [...rows.values()].flatMap(({ programs }) => [...programs.values()].flat())
      rows.clear()
      size = 0
      return all
    },
  }
}
