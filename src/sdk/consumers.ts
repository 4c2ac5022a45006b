import type { WithHealth } from './health.ts'
import type { LogEntry } from './logs.ts'

/**
 * Receives the audit records of all tenants, also of deleted ones, in the order in which the store got them. In one
 * process of all replicas at a time, in the role `admin` only. At least once: records are delivered again when a
 * process ends, or loses the consumer to another one, before `handle` resolved.
 */
export interface Consumer extends WithHealth {
  /** `[a-z][a-z0-9-]*`, at most 50, unique in its plugin. Its position is stored under `<plugin>/<name>`. */
  readonly name: string
  /**
   * Start of a consumer that has no position: `now` after the newest record, `start` before the oldest one. A position
   * is kept for 30 days after the plugin was removed.
   */
  readonly from: 'now' | 'start'
  /**
   * Asked before records are read. While it resolves with true, they count as handled without being read; a rejection
   * counts as one of `handle`. Without it, all are delivered.
   */
  isIdle?(): Promise<boolean>
  /**
   * 1 to 500 records; their `position` grows. They count as handled when it resolves. When it rejects, or after 60 s,
   * it is called again with the records that follow the last handled one: after 1 s, then twice as long each time, up
   * to 5 min. `signal` is aborted after 60 s, when another process has taken over, and when the service stops.
   */
  handle(records: readonly LogEntry[], signal: AbortSignal): Promise<void>
}
