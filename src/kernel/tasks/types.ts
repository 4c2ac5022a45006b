import type { Log } from '../../common/log.ts'
import type { WatchBlocking } from '../../common/watch-blocking.ts'
import type { Store } from '../../store/store.ts'
import type { TaskRow } from '../../store/tasks/types.ts'
import type { Leases } from './leases.ts'

/** State of all tasks, as it was read. */
interface RoundState {
  readonly row: TaskRow
  /** By the clock of the store, ms. */
  readonly now: number
  /** `seq` of the newest log. */
  readonly newest: number
  /** Also what is not due yet, for tests of plugins. */
  readonly isForced: boolean
}

/** Does what is due for one task, if this process gets or has its lease. Not called again before it has resolved. */
export type Visit = (state: RoundState) => Promise<void>

export interface TaskDeps {
  readonly store: Pick<Store, 'tasks' | 'logs' | 'time'>
  readonly leases: Leases
  /** Names the task. */
  readonly log: Log
  readonly watch: WatchBlocking
  /** Aborted when this process stops. */
  readonly stopping: AbortSignal
}
