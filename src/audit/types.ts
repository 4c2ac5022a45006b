/** One thing that happened to one entity. Never holds data, keys, bodies or query strings (completions §10, §12). */
export interface AuditRecord {
  readonly tenant_id: string
  readonly entity_type: string
  readonly entity_id: string
  readonly operation: string
  readonly actor_id: string | null
  readonly actor_type: string | null
  /** ≤ 250 characters. */
  readonly message: string
  readonly trace_id: string
  /** ms since the epoch. */
  readonly created_at: number
}

/** A process's hash-chained journal. */
export interface Journal {
  /**
   * Resolves when the records survive `kill -9` of this process (with `sync`: power loss too). Calls of one turn of the
   * event loop share a write. Rejects with `unavailable` when they cannot be written: then nothing may be disclosed.
   */
  append(records: readonly AuditRecord[]): Promise<void>
  /** Rejects when the last write failed or the directory is not writable. */
  health(): Promise<void>
  close(): Promise<void>
}
