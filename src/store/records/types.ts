import type { Eventual } from '../../common/eventual.ts'
import type { Mutation, RecordQuery } from '../../sdk/index.ts'

/** `beforeSeq`: position from which a cursor list continues. */
export type RecordListQuery = Omit<RecordQuery, 'start'> & { readonly beforeSeq?: number }

export interface RecordRow {
  /** Sequence number among the records of all tenants. */
  readonly seq: number
  readonly id: string
  readonly version: number
  /** The stored record, JSON. */
  readonly body: string
  /** Copied from the body: for lists by name, in lower case, and for the purge. */
  readonly name: string | null
  readonly expires_at: number | null
  /** Null: no MAC. */
  readonly mac: Buffer | null
}

/** A change as it is stored. `mac`: MAC of the written record. */
export interface StoredMutation extends Mutation {
  readonly shape: CollectionShape
  readonly mac?: Buffer
  /** Keyed hashes of the members that are unique in the tenant. */
  readonly unique?: Readonly<Record<string, string>>
}

/** A host that a record binds. */
interface BoundHost {
  readonly tenantId: string
  readonly host: string
}

/** Declarations of a collection that the store needs. */
interface CollectionShape {
  readonly name: string
  readonly indexes: readonly string[]
  readonly lookups: readonly string[]
  /** Member with the hosts that the record binds. */
  readonly hosts?: string
  /** Member with the origins that the record allows. */
  readonly origins?: string
  /** Member with the tokens whose deletion, or earlier expiry, removes the record. */
  readonly tokens?: string
  /** Member with the expiry of a record, ms since the epoch. */
  readonly expires?: string
}

export interface RecordStore {
  get(collection: string, tenantId: string, id: string): Promise<RecordRow | undefined>
  find(
    collection: string,
    tenantId: string,
    query: RecordListQuery,
  ): Promise<{ rows: readonly RecordRow[]; total: number }>
  lookup(
    collection: string,
    member: string,
    value: string,
  ): Promise<(RecordRow & { readonly tenantId: string }) | undefined>
  /** Records of all tenants, newest first. */
  newest(collection: string, limit: number): Promise<readonly (RecordRow & { readonly tenantId: string })[]>
  /** Hosts that records of any tenant bind, each once for a tenant, the longest bound ones first. */
  hosts(limit: number): Promise<readonly BoundHost[]>
  /** Whether a record of any tenant allows the origin. */
  allowsOrigin(origin: string): Promise<boolean>
  /**
   * One transaction; increments each collection's change counter. `conflict` when a value is not unique or a version
   * is stale.
   */
  commit(mutations: readonly StoredMutation[], now: number): Promise<void>
  /** Sum of the change counters: it differs after any commit to these collections, in any process. */
  changes(collections: readonly string[]): Eventual<number>
}
