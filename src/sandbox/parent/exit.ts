/** End of a child: its cause, and what follows for its jobs (src/sandbox/README.md, "Blame for a death"). */
import type { LimitName } from '../types.ts'
import type { Job } from './job.ts'
import type { Entered } from './running-code.ts'

/** `replaced`: it was idle, and another tenant needs its place. */
export type ExitReason = 'unresponsive' | 'memory' | 'crash' | 'closed' | 'replaced'

/** Program that a child ran when it ended. */
export interface LastEntered extends Entered {
  readonly tenantId: string
  /** The child also had programs of other tenants, of which it may hold memory. */
  readonly isShared: boolean
}

export interface End {
  readonly reason: ExitReason
  readonly wasReady: boolean
}

/** End of a child. */
export interface Exit extends End {
  readonly entered: LastEntered | undefined
  /** Its unfinished jobs. */
  readonly jobs: readonly Job[]
}

const LIMITS: Readonly<Record<ExitReason, LimitName>> = {
  unresponsive: 'cpu',
  memory: 'memory',
  crash: 'crash',
  closed: 'cancelled',
  replaced: 'crash',
}

/** Whether programs of other tenants hold memory of the child: then the one that ran last may not be the cause. */
export const isShared = ({ reason, entered, jobs }: Exit): boolean =>
  (reason !== 'unresponsive' && entered?.isShared === true) ||
  jobs.some(({ source }) => source.tenantId !== entered?.tenantId)

/** Whether a job of the child runs again, maybe alone; else the limit with which it ends. */
export const consequenceOf = (job: Job, exit: Exit): 'repeat' | 'repeat alone' | LimitName => {
  const { reason, entered } = exit
  if (job.id !== entered?.id || entered.assumed) return 'repeat'
  if (!isShared(exit)) return LIMITS[reason]
  if (!job.repeatable) return reason === 'unresponsive' ? 'cpu' : 'interrupted'
  return 'repeat alone'
}
