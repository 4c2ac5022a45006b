import type { Command } from '../command.ts'
import type { Job } from './protocol.ts'

/** Maximum jobs of one commit: the first of them waits for the last. */
const MAX_GROUP = 512
/** ms that maintenance yields to calls: a bound, so that it continues under any load. */
const TIMEOUT = 5
/** While calls wait, maintenance pauses this many times as long as its last job took. */
const REST = 4

/** A write that waits for the thread. */
export interface WaitingJob extends Omit<Job, 'command'> {
  readonly command: Command
}

interface JobQueue {
  push(job: WaitingJob): void
  /**
   * Removes the jobs of the next commit: calls in order, and one maintenance job, unless one runs, when no call waits
   * or it is due.
   */
  take(): readonly WaitingJob[]
  /** Reports that maintenance, if any ran, is done. `ms`: what it took; by default the time since `take`. */
  settled(ms?: number): void
  /** Waiting calls. */
  readonly calls: number
  /** Waiting jobs, maintenance included. */
  readonly size: number
  clear(): void
}

/** Queue of the writer thread. `now`: ms of a monotonic clock. */
export const createJobQueue = (now: () => number): JobQueue => {
  let calls: WaitingJob[] = []
  let maintenance: { readonly job: WaitingJob; readonly since: number }[] = []
  let began: number | undefined
  let restUntil = Number.NEGATIVE_INFINITY
  return {
    push: (job) => {
      if (job.command.isMaintenance) maintenance.push({ job, since: now() })
      else calls.push(job)
    },
    take: () => {
      const group = calls.splice(0, MAX_GROUP)
      const [first] = maintenance
      if (first === undefined || began !== undefined) return group
      const at = now()
      if (group.length === 0 || at >= Math.max(first.since + TIMEOUT, restUntil)) {
        maintenance.shift()
        group.push(first.job)
        began = at
      }
      return group
    },
    settled: (ms) => {
      if (began === undefined) return
      const at = now()
      restUntil = at + REST * (ms ?? at - began)
      began = undefined
    },
    get calls() {
      return calls.length
    },
    get size() {
      return calls.length + maintenance.length
    },
    clear: () => {
      calls = []
      maintenance = []
      began = undefined
    },
  }
}
