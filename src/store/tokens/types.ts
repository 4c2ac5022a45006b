import type { Eventual } from '../../common/eventual.ts'
import type { Condition, EgressLimits } from '../../sdk/index.ts'

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
  readonly egress: EgressLimits | null
  /** 1: it has a mask of its own; null: its type's, if any. */
  readonly masked: 1 | null
  readonly expires_at: number | null
  readonly created_by: string
  readonly created_at: number
  readonly modified_by: string | null
  readonly modified_at: number | null
}

/** Columns known before a token is read. */
export interface TokenHead extends Pick<TokenRow, 'seq' | 'id' | 'type' | 'container'> {
  /** Bytes to read: seals and metadata. */
  readonly bytes: number
  /** Absent in lists. */
  readonly egress?: EgressLimits | null
}

/** Columns that decide, besides the container, how a token is disclosed: known without opening it. */
export type TokenTraits = Pick<TokenRow, 'type' | 'masked' | 'egress'>

/** Tokens of one container and type. */
export type TokenGroup = Pick<TokenRow, 'container' | 'type'>

export interface NewToken extends Omit<TokenRow, 'seq' | 'version' | 'modified_by' | 'modified_at'> {
  /** Blind index terms (keyed hashes of search index values). */
  readonly terms: readonly Buffer[]
  /** When set and a live token of this tenant has `fingerprint` in `container`, that token is returned instead. */
  readonly deduplicate: boolean
  /** Ids to try when `id` is in use, in order (alias expressions). Empty: an id in use is a conflict. */
  readonly fallbackIds: readonly string[]
  /** `seq` of a live token of the tenant that the new one (or the one it duplicates) becomes a child of. */
  readonly parentSeq?: number
}

/** Result of one NewToken. */
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

/** Visibility of a caller: any alternative; within one, all conditions. `'all'`: every token of the tenant. */
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
  /** Associated as a parent with the token of this number. */
  | { readonly kind: 'parent'; readonly childSeq: number }
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
  | 'expires_at'

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
  /** Rows to skip (offset lists). */
  readonly offset?: number
  /** Rows with a smaller seq only (cursor lists). */
  readonly beforeSeq?: number
}

/** Tokens of tenants. Every method is bound to one tenant; expired tokens count as absent. */
export interface TokenStore {
  /** One transaction; `conflict` (AppError) when an id is in use and no fallback is left. */
  create(tokens: readonly NewToken[], now: number): Promise<readonly Created[]>
  /** One batched read; the result omits absent ids. */
  read(tenantId: string, ids: readonly string[], now: number): Eventual<readonly TokenRow[]>
  /** Same, without sealed columns, and with limits of egress. */
  heads(tenantId: string, ids: readonly string[], now: number): Promise<readonly TokenHead[]>
  /** The token's container and traits; undefined when it is absent. */
  located(tenantId: string, id: string, now: number): Promise<(TokenGroup & TokenTraits) | undefined>
  /** The groups with tokens behind `after`, at most `limit`, by container, then type. */
  groups(tenantId: string, after: TokenGroup, limit: number): Promise<readonly TokenGroup[]>
  /** How many tokens of a group have which traits, among `limit` of them. */
  traits(
    tenantId: string,
    group: TokenGroup,
    now: number,
    limit: number,
  ): Promise<readonly (TokenTraits & { readonly tokens: number })[]>
  list(query: TokenListQuery): Promise<readonly TokenHead[]>
  /** Exact; above 10,000 it may be ten seconds old. */
  count(query: Omit<TokenListQuery, 'size' | 'offset' | 'beforeSeq'>): Promise<number>
  update(update: TokenUpdate, now: number): Promise<Updated>
  /** False when it did not exist. `expected`: `precondition_failed` when the token is not this row any more. */
  delete(
    tenantId: string,
    id: string,
    now: number,
    expected?: Pick<TokenRow, 'seq' | 'version'>,
  ): Promise<boolean>
  /** Between live tokens of one tenant; `gone` when one of them is absent. */
  associate(association: Association, now: number): Promise<'associated' | 'exists' | 'gone'>
  /** False when there was none. */
  dissociate(association: Association): Promise<boolean>
  /** Removes expired tokens and due ephemerals, at most `limit` of each; returns their number. */
  purge(now: number, limit: number): Promise<number>
}
