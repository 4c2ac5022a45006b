import type { Static, TSchema } from 'typebox'

/** Typed records of a plugin. Each read and write is bound to the tenant that it names. */
export interface Collection<T extends TSchema = TSchema> {
  /** `[a-z_]{1,50}`, unique among plugins. */
  readonly name: string
  /** An object schema with a string `id`. */
  readonly schema: T
  /** Members (strings) that lists can filter by. */
  readonly indexes?: readonly string[]
  /** Members (strings) that are unique across all tenants and find the record without a tenant, e.g. a key's hash. */
  readonly lookups?: readonly string[]
  /** Members (strings) of which a tenant has each value once. Stored as a keyed hash, so they may be sealed. */
  readonly unique?: readonly string[]
  /** A member (a string or a list of them) with hosts that the record binds in the forward proxy (completions §15). */
  readonly hosts?: string
  /** A member (a list of strings) with origins of pages, which the service then lets send calls (completions §20). */
  readonly origins?: string
  /** Members that may hold secrets: sealed under the tenant's key, neither indexed nor searchable. */
  readonly sealed?: readonly string[]
  /**
   * A member that lists ids of tokens; changes may add to it. The record is deleted in the transaction that deletes one
   * of them.
   */
  readonly tokens?: string
  /** An integer member: expiry in ms since the epoch. The record is removed some time after it. */
  readonly expires?: string
}

export interface RecordQuery {
  /** Equality on indexed members; an array means any of. */
  readonly where?: Readonly<Record<string, string | readonly string[]>>
  readonly ids?: readonly string[]
  /**
   * Newest first, 1-based. Without `page`, a list of this `size` is paged by `start`; without either, it is complete.
   */
  readonly page?: number
  readonly size?: number
  /** The `next` of the page before. */
  readonly start?: string
  /** Wildcard on the member `name` (`*`, `?`; without either: contains), case-insensitive (completions §3). */
  readonly name?: string
}

export interface RecordPage<T> {
  readonly items: readonly T[]
  readonly total: number
  /** Cursor of the next page, of a list that is paged by `start`; absent at the end. */
  readonly next?: string
}

/** A change to a record, created by `Records` and executed by `PluginContext.commit`. Opaque to plugins. */
export interface Mutation {
  readonly kind: 'insert' | 'replace' | 'delete'
  readonly collection: string
  readonly tenantId: string
  readonly id: string
  readonly record?: unknown
  /** The expected current version; absent: any. */
  readonly version?: number
}

/**
 * Access to one collection. Writes are durable when resolved. Each increments the collection's change counter, by which
 * other processes invalidate their caches.
 */
export interface Records<T extends { readonly id: string }> {
  get(tenantId: string, id: string): Promise<T | undefined>
  /** A record with its version, for an optimistic `replacing`. */
  read(tenantId: string, id: string): Promise<{ readonly record: T; readonly version: number } | undefined>
  /** `invalid` for a `start` that is no cursor of this list. */
  find(tenantId: string, query?: RecordQuery): Promise<RecordPage<T>>
  /** Finds by a unique lookup member, across tenants. */
  lookup(
    member: string,
    value: string,
  ): Promise<{ readonly tenantId: string; readonly record: T } | undefined>
  /** The newest records of all tenants, to warm caches. */
  newest(limit: number): Promise<readonly { readonly tenantId: string; readonly record: T }[]>
  /** Rejects with `conflict` when the id or a lookup value exists. */
  insert(tenantId: string, record: T): Promise<void>
  /**
   * Applies `change` to the current record, again after a concurrent write; undefined when it does not exist. Writes
   * nothing when `change` returns the record itself.
   */
  update(tenantId: string, id: string, change: (current: T) => T): Promise<T | undefined>
  /** False when it did not exist. */
  delete(tenantId: string, id: string): Promise<boolean>
  insertMutation(tenantId: string, record: T): Mutation
  replaceMutation(tenantId: string, record: T, version: number): Mutation
  deleteMutation(tenantId: string, id: string): Mutation
}

export type RecordOf<C extends Collection> = Static<C['schema']> & { readonly id: string }
