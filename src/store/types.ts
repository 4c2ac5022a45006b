import type { Condition, Mutation, RecordQuery } from '../sdk/index.ts'

/** Times are ms since the epoch; bytes are Buffers. `seq` grows with creation: newest first is `seq` descending. */
export interface TokenRow {
  readonly seq: number
  readonly tenant_id: string
  readonly id: string
  readonly type: string
  readonly container: string
  /** Sealed JSON `{ data, mask?, search_indexes?, fingerprint_expression? }`: user expressions may hold literals. */
  readonly sealed: Buffer
  /** Sealed JSON of the members that are removed at `ephemeral_until`. */
  readonly ephemeral: Buffer | null
  readonly ephemeral_until: number | null
  /** Starts at 1, grows with each update; part of the associated data of both seals. */
  readonly version: number
  readonly metadata: Readonly<Record<string, string>> | null
  readonly fingerprint: string | null
  readonly expires_at: number | null
  readonly created_by: string
  readonly created_at: number
  readonly modified_by: string | null
  readonly modified_at: number | null
}

export interface NewToken extends Omit<TokenRow, 'seq' | 'version' | 'modified_by' | 'modified_at'> {
  /** Blind index terms (keyed hashes of search index values). */
  readonly terms: readonly Buffer[]
  /** When set and a live token of this tenant has `fingerprint` in `container`: that one is answered instead. */
  readonly deduplicate: boolean
  /** Ids to try when `id` is taken, in order (alias expressions). Empty: a taken id is a conflict. */
  readonly fallbackIds: readonly string[]
  /** `seq` of a live token of the tenant that the new one (or the one it duplicates) becomes a child of. */
  readonly parentSeq?: number
}

/** What became of one NewToken. */
export type Created =
  | { readonly kind: 'created'; readonly id: string; readonly seq: number }
  | { readonly kind: 'duplicate'; readonly token: TokenRow }

export interface TokenUpdate {
  readonly row: Omit<TokenRow, 'version'>
  /** The version read before; the stored one becomes `version + 1`. */
  readonly version: number
  readonly terms: readonly Buffer[]
  readonly deduplicate: boolean
}

/** Two tokens by their numbers. */
export interface Association {
  readonly tenantId: string
  readonly parentSeq: number
  readonly childSeq: number
}

export type Updated =
  | { readonly kind: 'updated' }
  | { readonly kind: 'stale' }
  | { readonly kind: 'gone' }
  | { readonly kind: 'duplicate'; readonly token: TokenRow }

/** What a caller may see: any alternative; within one, all conditions. `'all'`: every token of the tenant. */
export type Visibility = 'all' | readonly (readonly Condition[])[]

/** A parsed search (completions §5), values of `data` already hashed to terms. */
export type SearchNode =
  | { readonly kind: 'and' | 'or'; readonly nodes: readonly SearchNode[] }
  | { readonly kind: 'not'; readonly node: SearchNode }
  | { readonly kind: 'equals'; readonly field: SearchField; readonly value: string | number }
  /** A container and all below it. */
  | { readonly kind: 'prefix'; readonly field: 'container' | 'id'; readonly value: string }
  | { readonly kind: 'range'; readonly field: SearchField; readonly from?: Bound; readonly to?: Bound }
  | { readonly kind: 'term'; readonly term: Buffer }
  /** Associated as a child with the token of this number. */
  | { readonly kind: 'child'; readonly parentSeq: number }
  | { readonly kind: 'metadata'; readonly key: string; readonly value: string }
  | { readonly kind: 'metadata-range'; readonly key: string; readonly from?: Bound; readonly to?: Bound }

export type SearchField =
  | 'id'
  | 'type'
  | 'container'
  | 'fingerprint'
  | 'created_by'
  | 'modified_by'
  | 'created_at'
  | 'modified_at'

export interface Bound {
  readonly value: string | number
  readonly inclusive: boolean
}

export interface TokenListQuery {
  readonly tenantId: string
  readonly now: number
  readonly visibility: Visibility
  readonly where?: SearchNode
  readonly size: number
  /** Rows to pass over (offset lists). */
  readonly offset?: number
  /** Rows with a smaller seq only (cursor lists). */
  readonly beforeSeq?: number
}

/** Tokens of tenants. Every method is bound to one tenant; expired tokens are as if absent. */
export interface TokenStore {
  /** One transaction; `conflict` (AppError) when an id is taken and no fallback is left. */
  create(tokens: readonly NewToken[], now: number): Promise<readonly Created[]>
  /** One batched read; absent ids are absent from the answer. */
  read(tenantId: string, ids: readonly string[], now: number): Promise<readonly TokenRow[]>
  list(query: TokenListQuery): Promise<readonly TokenRow[]>
  count(query: Omit<TokenListQuery, 'size' | 'offset' | 'beforeSeq'>): Promise<number>
  update(update: TokenUpdate, now: number): Promise<Updated>
  delete(tenantId: string, id: string, now: number): Promise<boolean>
  /** Between live tokens of one tenant; `gone` when one of them is not there any more. */
  associate(association: Association, now: number): Promise<'associated' | 'exists' | 'gone'>
  /** False when there was none. */
  dissociate(association: Association): Promise<boolean>
  /** Removes expired tokens and due ephemerals, at most `limit` of each; how many were removed. */
  purge(now: number, limit: number): Promise<number>
}

export interface RecordRow {
  readonly id: string
  readonly version: number
  readonly record: unknown
}

/** What a collection declares, as the store needs it. */
export interface CollectionShape {
  readonly name: string
  readonly indexes: readonly string[]
  readonly lookups: readonly string[]
  /** The member that holds when a record is removed, ms since the epoch. */
  readonly expires?: string
}

export interface RecordStore {
  get(collection: string, tenantId: string, id: string): Promise<RecordRow | undefined>
  find(
    collection: string,
    tenantId: string,
    query: RecordQuery,
  ): Promise<{ rows: readonly RecordRow[]; total: number }>
  lookup(
    collection: string,
    member: string,
    value: string,
  ): Promise<(RecordRow & { readonly tenantId: string }) | undefined>
  /** Of all tenants, newest first. */
  newest(collection: string, limit: number): Promise<readonly (RecordRow & { readonly tenantId: string })[]>
  /** One transaction; moves the change counter of each collection named; `conflict` when something is not free or not current. */
  commit(mutations: readonly (Mutation & { readonly shape: CollectionShape })[], now: number): Promise<void>
  /** Sum of the change counters: a number that differs after any commit to these collections, in any process. */
  changes(collections: readonly string[]): Promise<number>
}

export interface TenantRow {
  readonly id: string
  readonly owner_id: string
  readonly name: string
  readonly settings: Readonly<Record<string, string>>
  readonly created_by: string | null
  readonly created_at: number
  readonly modified_by: string | null
  readonly modified_at: number | null
}

export interface KeyRow {
  /** `''` holds the service's own keys. */
  readonly tenant_id: string
  readonly purpose: string
  readonly version: number
  /** Key material under the root key. */
  readonly wrapped: Buffer
  readonly created_at: number
}

export interface TenantStore {
  get(id: string): Promise<TenantRow | undefined>
  list(): Promise<readonly TenantRow[]>
  /** True when the store never had a tenant. */
  isNew(): Promise<boolean>
  /** Tenant and its keys, all or nothing. */
  create(tenant: TenantRow, keys: readonly KeyRow[]): Promise<void>
  /** Replaces name, settings and who modified them when; false when there is no such tenant. */
  update(tenant: TenantRow): Promise<boolean>
  /**
   * Removes the tenant, its keys and its records in one transaction, so that nothing of it opens any more; all other rows
   * go with the purge of leftovers. False when there was none.
   */
  delete(id: string, now: number): Promise<boolean>
}

export interface KeyStore {
  keys(tenantId: string): Promise<readonly KeyRow[]>
  /** False when that purpose and version exist already (another process was first): read again. */
  add(keys: readonly KeyRow[]): Promise<boolean>
}

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
  /** `seq` of the token that was created, read or used: what monthly activity counts. Written only, never answered. */
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
  /** Rows to pass over. Costs the same at any depth, unless an entity is named. */
  readonly offset?: number
  /** Rows behind this one only. */
  readonly after?: Pick<LogListRow, 'created_at' | 'seq'>
}

export interface LogStore {
  /** Rows already present (same journal and sequence number) are passed over. One transaction. */
  ingest(rows: readonly LogRow[]): Promise<void>
  /** The last ingested record of a journal. */
  position(journal: string): Promise<{ readonly seq: number; readonly hash: string } | undefined>
  /** Names of the journals that anything was ingested from; verification finds deleted journals by them. */
  journals(): Promise<readonly string[]>
  /** Newest first: by `created_at`, then `seq`. */
  list(query: LogListQuery): Promise<readonly LogListRow[]>
  count(filter: LogFilter): Promise<number>
  /** Oldest first; for tests and verification. */
  find(tenantId: string, entityId?: string): Promise<readonly LogRow[]>
}

export interface TypeUsage {
  readonly type: string
  /** Live tokens. */
  readonly count: number
  readonly last_created_at: number
}

export interface UsageStore {
  /** Live tokens by type; types without any are left out. */
  types(tenantId: string, now: number): Promise<readonly TypeUsage[]>
  /** Distinct tokens created, read or used in the month (UTC) of `now`, by the logs ingested so far. */
  active(tenantId: string, now: number): Promise<number>
}

/** An answer that is kept for a repeated request, and the right to make it. */
export interface AnswerKey {
  readonly tenantId: string
  /** A keyed hash. */
  readonly key: Buffer
}

export type Begun =
  | { readonly kind: 'begun' }
  /** Another request holds it. */
  | { readonly kind: 'running' }
  | { readonly kind: 'done'; readonly operation: string; readonly sealed: Buffer }

export interface AnswerStore {
  /** `holder` may make the answer until `expiresAt`, unless one is there or another holder is at it. */
  begin(
    answer: AnswerKey & { readonly operation: string; readonly holder: string; readonly expiresAt: number },
    now: number,
  ): Promise<Begun>
  /** Keeps the answer until `expiresAt`; nothing when the holder's time has run out and another took over. */
  finish(
    answer: AnswerKey & { readonly holder: string; readonly sealed: Buffer; readonly expiresAt: number },
  ): Promise<void>
  /** Gives the right back. */
  abandon(answer: AnswerKey & { readonly holder: string }): Promise<void>
}

/** What nothing asks for any more: past records and answers, past months' activity, rows of deleted tenants. */
export interface Leftovers {
  /** At most `limit` of each kind; how many were removed. */
  purge(now: number, limit: number): Promise<number>
}

export interface Store {
  readonly engine: 'sqlite' | 'postgres'
  readonly tokens: TokenStore
  readonly records: RecordStore
  readonly tenants: TenantStore
  readonly keys: KeyStore
  readonly logs: LogStore
  readonly usage: UsageStore
  readonly answers: AnswerStore
  readonly leftovers: Leftovers
  /** Rejects when the store cannot read or, for `writable`, write. */
  health(): Promise<void>
  /** Waits for acknowledged writes. */
  close(): Promise<void>
}
