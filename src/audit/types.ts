import type { AuditRecord } from '../access/audit-record.ts'

export type { AuditRecord }

/** Hash-chained journal of a process. */
export interface Journal {
  /**
   * Resolves when the records survive `kill -9` of this process (with `sync`: power loss too). Calls of one turn of the
   * event loop share a write. Rejects with `gateway_timeout` when they cannot be written: then nothing may be
   * disclosed.
   */
  append(records: readonly AuditRecord[]): Promise<void>
  /** Rejects when the last write failed or the directory is not writable. */
  health(): Promise<void>
  close(): Promise<void>
}
