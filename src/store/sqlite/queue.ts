import type { CommandName } from '../write-commands.ts'
import type { Job } from './protocol.ts'

/** Jobs that share a commit, at most: the first of them waits for the last. */
const MAX_GROUP = 512
/** ms that what nobody waits for gives way to what somebody does: a bound, so that it goes on under any load. */
const TIMEOUT = 25
/** While calls wait, upkeep rests this many times as long as the last group with some of it took. */
const REST = 4

/** Upkeep: large, and nobody waits for it. */
const MAINTENANCE: ReadonlySet<CommandName> = new Set([
  'logs.ingest',
  'tokens.purge',
  'purge.deleted-tenants',
  'reencrypt.replace',
])

export interface JobQueue {
  push(job: Job): void
  /** The jobs of the next commit, taken out: callers' in order, and one of upkeep when none waits or it is due. */
  take(): readonly Job[]
  /** The group that was taken last is done. */
  settled(): void
  /** Calls that wait. */
  readonly calls: number
  /** Jobs that wait, upkeep included. */
  readonly size: number
  clear(): void
}

/** What waits for the writer thread. `now`: ms of any clock that only goes forward. */
export const createJobQueue = (now: () => number): JobQueue => {
  let calls: Job[] = []
  let maintenance: { readonly job: Job; readonly since: number }[] = []
  let began: number | undefined
  let restUntil = Number.NEGATIVE_INFINITY
  return {
    push: (job) => {
      if (MAINTENANCE.has(job.command)) maintenance.push({ job, since: now() })
      else calls.push(job)
    },
    take: () => {
      const group = calls.splice(0, MAX_GROUP)
      const [first] = maintenance
      if (first === undefined) return group
      const at = now()
      if (group.length === 0 || at >= Math.max(first.since + TIMEOUT, restUntil)) {
        maintenance.shift()
        group.push(first.job)
        began = at
      }
      return group
    },
    settled: () => {
      if (began === undefined) return
      const at = now()
      restUntil = at + REST * (at - began)
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
