import type { Child } from './child.ts'
import type { Job } from './job.ts'

/** Children of a pool; undefined while one is respawned. */
export type Slots = readonly (Child | undefined)[]

/** Rules which child may take which job, apart from how busy it is. */
export interface ChildRules {
  /** Called before jobs are assigned. */
  update(): void
  /** `trusted`: the job's program may run beside others. */
  permit(child: Child, job: Job, trusted: boolean): boolean
  /** A child that must be replaced before the job can run. */
  childToReplaceFor(job: Job): Child | undefined
}
