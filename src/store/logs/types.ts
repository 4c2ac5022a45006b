import type { LoggedDisclosure } from '../../sdk/index.ts'

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
  /** Name of the source journal, sequence number in it, and chain hash (hex). */
  readonly journal: string
  readonly journal_seq: number
  readonly hash: string
  /** `seq` of the token that was created, read or used, for monthly activity. No list shows it. */
  readonly token_seq?: number
  /** Surfaces of a proxied request that a used token was put into, one a line (completions §13). */
  readonly surfaces?: string
  /** Of a token that was read or used (completions §10); absent from records of earlier versions. */
  readonly disclosure?: LoggedDisclosure
  /** JSON object of the labels of a check (completions §18). */
  readonly labels?: string
}

/** A log entry as lists return it. */
export type LogListRow = Omit<
  LogRow,
  'journal' | 'journal_seq' | 'hash' | 'token_seq' | 'surfaces' | 'disclosure' | 'labels'
> & {
  readonly seq: number
  readonly surfaces: string | null
  readonly disclosure: LoggedDisclosure | null
  readonly labels: string | null
}

export interface LogFilter {
  readonly tenantId: string
  readonly entityType?: string
  readonly entityId?: string
  readonly actorId?: string
  readonly operation?: string
  /** `created_at` ≥ `from` and < `to`. */
  readonly from?: number
  readonly to?: number
}

export interface LogListQuery extends LogFilter {
  readonly size: number
  /** Rows to skip. */
  readonly offset?: number
  /** Only rows after this one. */
  readonly after?: Pick<LogListRow, 'created_at' | 'seq'>
}

/** The store has another record at this position: the journal was written twice. */
export type Forked = Pick<LogRow, 'journal' | 'journal_seq'>

export interface LogStore {
  /**
   * Skips rows already present (same journal, sequence number and hash). One transaction on PostgreSQL; on SQLite each
   * slice has its own. When the store has another record under one of the numbers, returns the first such row, and
   * writes nothing of its transaction nor what follows.
   */
  ingest(rows: readonly LogRow[]): Promise<Forked | undefined>
  /** The last ingested record of a journal. */
  position(journal: string): Promise<{ readonly seq: number; readonly hash: string } | undefined>
  /**
   * Rows of one journal with a number above `after`, in the order of their numbers, at most `limit`. Of all tenants.
   */
  rows(journal: string, after: number, limit: number): Promise<readonly LogRow[]>
  /** Names of journals that have rows. */
  rowJournals(): Promise<readonly string[]>
  /** Names of journals with ingested records; verification finds deleted journals by them. */
  journals(): Promise<readonly string[]>
  /** Newest first: by `created_at`, then `seq`. */
  list(query: LogListQuery): Promise<readonly LogListRow[]>
  /** Of all tenants, in the order of ingest, after the one with this `seq`; at most 500. */
  after(seq: number): Promise<readonly LogListRow[]>
  /** `created_at` of the first log after the one with this `seq`. */
  createdAfter(seq: number): Promise<number | undefined>
  /** Exact; above 10,000 it may be ten seconds old. */
  count(filter: LogFilter): Promise<number>
  /** Oldest first; for tests and verification. */
  find(tenantId: string, entityId?: string): Promise<readonly LogRow[]>
}
