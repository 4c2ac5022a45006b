import type { Job } from './job.ts'

/** Jobs that wait, altogether and of one tenant. */
const MAX_WAITING = 2_000
const MAX_OF_TENANT = 500

/** Jobs that wait for a child: tenants take turns, so that nobody's flood makes others wait for more than one of its jobs. */
export const createQueue = () => {
  const tenants = new Map<string, Job[]>()
  let size = 0

  const take = (tenantId: string, jobs: Job[], index: number): Job | undefined => {
    const [job] = jobs.splice(index, 1)
    size--
    tenants.delete(tenantId) // and to the end of the row
    if (jobs.length > 0) tenants.set(tenantId, jobs)
    return job
  }

  return {
    get size() {
      return size
    },
    /** False when there is no room. `first`: it has waited before. */
    add: (job: Job, first = false): boolean => {
      const { tenantId } = job.source
      const jobs = tenants.get(tenantId) ?? []
      if (!first && (size >= MAX_WAITING || jobs.length >= MAX_OF_TENANT)) return false
      if (first) jobs.unshift(job)
      else jobs.push(job)
      tenants.set(tenantId, jobs)
      size++
      return true
    },
    /** The next job whose turn it is and that `fits`; those that are over are dropped on the way. */
    next: (fits: (job: Job) => boolean): Job | undefined => {
      for (const [tenantId, jobs] of tenants) {
        for (let index = 0; index < jobs.length; index++) {
          const job = jobs[index] as Job
          if (job.over) {
            jobs.splice(index--, 1)
            size--
          } else if (fits(job)) return take(tenantId, jobs, index)
        }
        if (jobs.length === 0) tenants.delete(tenantId)
      }
      return undefined
    },
    clear: (): readonly Job[] => {
      const all = [...tenants.values()].flat()
      tenants.clear()
      size = 0
      return all
    },
  }
}
