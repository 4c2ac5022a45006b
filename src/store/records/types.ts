import type { Mutation, RecordQuery } from '../../sdk/index.ts'

/** `beforeSeq`: where a list without pages goes on. */
export type RecordListQuery = Omit<RecordQuery, 'start'> & { readonly beforeSeq?: number }

export interface RecordRow {
  /** Counts the records of all tenants. */
  readonly seq: number
  readonly id: string
  readonly version: number
  /** The record as it is stored, JSON. */
  readonly body: string
  /** Copied out of the body for lists by name, in lower case, and for the purge. */
  readonly name: string | null
  readonly expires_at: number | null
  /** Null: it has none. */
  readonly mac: Buffer | null
}

/** What is stored of a change; `mac` is that of a record which is written. */
export interface StoredMutation extends Mutation {
  readonly shape: CollectionShape
  readonly mac?: Buffer
}

/** What a collection declares, as the store needs it. */
export interface CollectionShape {
  readonly name: string
  readonly indexes: readonly string[]
  readonly lookups: readonly string[]
  /** The member that lists the tokens whose deletion removes the record. */
  readonly tokens?: string
  /** The member that holds when a record is removed, ms since the epoch. */
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
  /** Of all tenants, newest first. */
  newest(collection: string, limit: number): Promise<readonly (RecordRow & { readonly tenantId: string })[]>
  /** One transaction; moves the change counter of each collection named; `conflict` when something is not free or not current. */
  commit(mutations: readonly StoredMutation[], now: number): Promise<void>
  /** Sum of the change counters: a number that differs after any commit to these collections, in any process. */
  changes(collections: readonly string[]): Promise<number>
}
