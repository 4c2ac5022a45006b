import type { Eventual } from '../../common/eventual.ts'
import type { Replacement } from '../bytes.ts'
import type { KeyRow } from '../keys/types.ts'

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

/** Null: it has none. */
export interface StoredTenant extends TenantRow {
  readonly mac: Buffer | null
}

export interface TenantStore {
  get(id: string): Promise<StoredTenant | undefined>
  list(): Promise<readonly TenantRow[]>
  /** Whether the tenant has, or had, tokens that are `egress_only`. */
  hasEgressOnly(id: string): Promise<boolean>
  /** A number that differs after any tenant was changed or deleted, in any process. */
  changes(): Eventual<number>
  /** True when the store never had a tenant. */
  isNew(): Promise<boolean>
  /** Tenant and keys, all or nothing. Its keys may be there already. */
  create(tenant: TenantRow & { readonly mac?: Buffer }, keys: readonly KeyRow[]): Promise<void>
  /** Writes over the tenant that was read with this MAC; false when it was deleted or changed since. */
  update(tenant: TenantRow, mac: Replacement): Promise<boolean>
  /**
   * Deletes the tenant, its keys and its records in one transaction, so that nothing of it can be opened; the purge
   * removes all other rows. The bytes of the keys leave the store's files too: before this resolves, or as soon as no
   * reader needs them. False when there was none. `mac`: `precondition_failed` when the tenant was changed since it was
   * read with this one.
   */
  delete(id: string, now: number, mac?: Buffer): Promise<boolean>
}
