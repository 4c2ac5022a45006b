import type { WithHealth } from './health.ts'

/** Work at intervals, in one process of all replicas at a time, in the role `admin` only. */
export interface Job extends WithHealth {
  /** `[a-z][a-z0-9-]*`, at most 50, unique in its plugin. Its last run is stored under `<plugin>/<name>`. */
  readonly name: string
  /**
   * Seconds from the start of a run to that of the next, at least 10; also across restarts, and after a run that
   * rejected or whose process was killed. A run that lasts longer delays the next one. A run that the stop of its
   * process interrupted is due again at once.
   */
  readonly every: number
  /**
   * `signal` is aborted when the service stops, and when this process could not renew its lease for 30 s: then another
   * process may run the job, so return at once.
   */
  run(signal: AbortSignal): Promise<void>
}
