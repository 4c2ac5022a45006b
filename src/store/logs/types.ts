export interface LogRow {
  readonly tenant_id: string
  readonly entity_type: string
  readonly entity_id: string
  readonly operation: string
  readonly actor_id: string | null
  readonly actor_type: string | null
  /** ≤ 250 characters. */
  readonly message: string
  readonly trace_id: string
  readonly created_at: number
  /** Name of the journal it came from, its sequence number there, and its chain hash (hex). */
  readonly journal: string
  readonly journal_seq: number
  readonly hash: string
  /** `seq` of the token that was created, read or used: what monthly activity counts. No list shows it. */
  readonly token_seq?: number
}

/** A log as a list answers it. */
export type LogListRow = Omit<LogRow, 'journal' | 'journal_seq' | 'hash' | 'token_seq'> & {
  readonly seq: number
}

export interface LogFilter {
  readonly tenantId: string
  readonly entityType?: string
  readonly entityId?: string
  /** `created_at` ≥ `from` and < `to`. */
  readonly from?: number
  readonly to?: number
}

export interface LogListQuery extends LogFilter {
  readonly size: number
  /** Rows to pass over. */
  readonly offset?: number
  /** Rows behind this one only. */
  readonly after?: Pick<LogListRow, 'created_at' | 'seq'>
}

/** A record in whose place the store has another one: its journal has been written twice. */
export type Forked = Pick<LogRow, 'journal' | 'journal_seq'>

export interface LogStore {
  /**
   * Rows already present (same journal, sequence number and hash) are passed over. One transaction. Where the store has
   * another record under the number of one of them, nothing is written, and the first such row is answered.
   */
  ingest(rows: readonly LogRow[]): Promise<Forked | undefined>
  /** The last ingested record of a journal. */
  position(journal: string): Promise<{ readonly seq: number; readonly hash: string } | undefined>
  /** Rows of one journal with a number above `after`, in the order of their numbers, at most `limit`. Of all tenants. */
  rows(journal: string, after: number, limit: number): Promise<readonly LogRow[]>
  /** Names of the journals that have rows. */
  rowJournals(): Promise<readonly string[]>
  /** Names of the journals that anything was ingested from; verification finds deleted journals by them. */
  journals(): Promise<readonly string[]>
  /** Newest first: by `created_at`, then `seq`. */
  list(query: LogListQuery): Promise<readonly LogListRow[]>
  /** Exact; above 10,000 it may be ten seconds old. */
  count(filter: LogFilter): Promise<number>
  /** Oldest first; for tests and verification. */
  find(tenantId: string, entityId?: string): Promise<readonly LogRow[]>
}
