import type { Eventual } from '../../common/eventual.ts'

export interface KeyRow {
  /** `''` holds the service's own keys. */
  readonly tenant_id: string
  readonly purpose: string
  readonly version: number
  /** Key material under the root key. */
  readonly wrapped: Buffer
  readonly created_at: number
}

/** Key of a row. */
export type KeyName = Pick<KeyRow, 'tenant_id' | 'purpose' | 'version'>

export interface KeyChange extends KeyName {
  readonly from: Buffer
  readonly to: Buffer
}

export interface RootChangeEnd {
  /** Id of the previous root key, 8 bytes. */
  readonly root: Buffer
  /** Purposes of service keys to remove. */
  readonly drop: readonly string[]
}

export interface KeyStore {
  keys(tenantId: string): Promise<readonly KeyRow[]>
  /** A number that differs after any key was added or destroyed, in any process. */
  changes(): Eventual<number>
  /**
   * False when that purpose and version exist already (another process was first): read again. `gateway_timeout` when
   * they are wrapped by a former root key.
   */
  add(keys: readonly KeyRow[]): Promise<boolean>
  /** Keys of all owners, the service included, by owner, purpose and version, after `after`. */
  page(after: KeyName, limit: number): Promise<readonly KeyRow[]>
  /** Replaces the bytes of keys; returns how many rows were unchanged since they were read. */
  rewrap(changes: readonly KeyChange[]): Promise<number>
  /** From now on a tenant's data keys up to this version open values and seal none: such a write is rejected. */
  close(tenantId: string, version: number, now: number): Promise<void>
  /** Their bytes leave the store's files as those of a deleted tenant do. */
  remove(keys: readonly KeyName[]): Promise<void>
  /** Removes the rows of a root key change once `root` wraps all keys; before that returns false without effect. */
  endRootChange(end: RootChangeEnd): Promise<boolean>
}
