import type { Schema } from '../schema.ts'

/** A consumer or job. */
export interface TaskKey {
  readonly kind: 'consumer' | 'job'
  /** `<plugin>/<name>`. */
  readonly name: string
}

export type TaskRow = Readonly<Schema['plugin_tasks']>

/** A task under its lease of this number. */
export type LeasedTask = TaskKey & Pick<TaskRow, 'lease_number'>

/** End of a run. */
export interface TaskRun {
  readonly outcome: Exclude<TaskRow['outcome'], null>
  readonly started_at: number
  readonly duration: number
  /** The consumer has handled the logs up to this `seq`. Absent: its position stays. */
  readonly position?: number
  /** The lease ends with the run. */
  readonly release: boolean
}

/**
 * Leases, positions and last runs of the consumers and jobs of plugins. One process of the store at a time holds the
 * lease of each. Leases are numbered, and only the newest one writes. Times are those of `Store.time`.
 */
export interface TaskStore {
  /**
   * Notes that these exist; a new consumer starts after the newest log, or with `from: 'start'` before the first.
   * Others that no process had since `purgeBefore` are removed.
   */
  register(
    tasks: readonly (TaskKey & { readonly from?: 'now' | 'start' })[],
    times: { readonly now: number; readonly purgeBefore: number },
  ): Promise<void>
  /** All of them, and the `seq` of the newest log (0: there is none). */
  state(): Promise<{ readonly tasks: readonly TaskRow[]; readonly newest: number }>
  /**
   * A new lease, if the one of this number has ended and there is no newer one; undefined when another process was
   * first. A job's run starts with it.
   */
  acquire(
    task: LeasedTask,
    lease: { readonly holder: string; readonly now: number; readonly until: number },
  ): Promise<TaskRow | undefined>
  /** Extends leases; returns for each whether the process still has it. */
  renew(leases: readonly LeasedTask[], until: number): Promise<readonly boolean[]>
  /** Writes the end of a run; false when there is a newer lease. */
  settle(task: LeasedTask, run: TaskRun): Promise<boolean>
  /** Ends all leases of the process. */
  release(holder: string): Promise<void>
}
