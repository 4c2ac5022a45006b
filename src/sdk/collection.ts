import type { Static, TSchema } from 'typebox'

/** Typed records of a plugin's own. Every read and write is bound to the tenant it names. */
export interface Collection<T extends TSchema = TSchema> {
  /** `[a-z_]{1,50}`, unique among plugins. */
  readonly name: string
  /** An object schema with a string `id`. */
  readonly schema: T
  /** Members (strings) that records can be listed by. */
  readonly indexes?: readonly string[]
  /** Members (strings) whose value is unique across all tenants and finds the record without one, e.g. a key's hash. */
  readonly lookups?: readonly string[]
  /** Members that are stored sealed under the tenant's key: what callers may put secrets in. Neither indexed nor found by. */
  readonly sealed?: readonly string[]
  /** A member that lists ids of tokens, to which changes may add: the record goes in the transaction that deletes one of them. */
  readonly tokens?: string
  /** An integer member: ms since the epoch from which on the record is of no use; it is removed some time after. */
  readonly expires?: string
}

export interface RecordQuery {
  /** Equality on indexed members; an array means any of. */
  readonly where?: Readonly<Record<string, string | readonly string[]>>
  readonly ids?: readonly string[]
  /** Newest first, 1-based. Without `page` a list of this `size` is walked by `start`; without either it is whole. */
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
  /** Cursor of the next page, of a list that is walked by `start`; absent at the end. */
  readonly next?: string
}

/** One change to one record; made by `Records`, carried out by `PluginContext.commit`. Opaque to plugins. */
export interface Mutation {
  readonly kind: 'insert' | 'replace' | 'delete'
  readonly collection: string
  readonly tenantId: string
  readonly id: string
  readonly record?: unknown
  /** The version that must still be the current one; absent: any. */
  readonly version?: number
}

/**
 * Access to one collection. Writes are durable when resolved; each one moves the collection's change counter, which
 * is how other processes learn that what they cached is stale.
 */
export interface Records<T extends { readonly id: string }> {
  get(tenantId: string, id: string): Promise<T | undefined>
  /** With the version for an optimistic `replacing`. */
  read(tenantId: string, id: string): Promise<{ readonly record: T; readonly version: number } | undefined>
  /** `invalid` for a `start` that is no cursor of this list. */
  find(tenantId: string, query?: RecordQuery): Promise<RecordPage<T>>
  /** By a unique lookup member, across tenants. */
  lookup(
    member: string,
    value: string,
  ): Promise<{ readonly tenantId: string; readonly record: T } | undefined>
  /** The last ones made, of all tenants: what is worth keeping ready. */
  newest(limit: number): Promise<readonly { readonly tenantId: string; readonly record: T }[]>
  /** Fails with `conflict` when the id or a lookup value is taken. */
  insert(tenantId: string, record: T): Promise<void>
  /** Applies `change` to the current record, again if another write came between; undefined when there is none. */
  update(tenantId: string, id: string, change: (current: T) => T): Promise<T | undefined>
  /** False when there was none. */
  delete(tenantId: string, id: string): Promise<boolean>
  inserting(tenantId: string, record: T): Mutation
  replacing(tenantId: string, record: T, version: number): Mutation
  deleting(tenantId: string, id: string): Mutation
}

export type RecordOf<C extends Collection> = Static<C['schema']> & { readonly id: string }
