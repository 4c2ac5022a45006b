import type { IdempotencyStore } from './idempotency/types.ts'
import type { LogStore } from './logs/types.ts'
import type { RecordStore } from './records/types.ts'
import type { SealedStore } from './reencrypt/types.ts'
import type { KeyStore, TenantStore } from './tenants/types.ts'
import type { TokenStore } from './tokens/types.ts'
import type { UsageStore } from './usage/types.ts'

export type * from './idempotency/types.ts'
export type * from './logs/types.ts'
export type * from './records/types.ts'
export type * from './reencrypt/types.ts'
export type * from './tenants/types.ts'
export type * from './tokens/types.ts'
export type * from './usage/types.ts'

/** What nothing asks for any more: past records and answers, past months' activity, rows of deleted tenants. */
export interface TenantPurge {
  /** At most `limit` of each kind; how many were removed. */
  purge(now: number, limit: number): Promise<number>
}

export interface StoreLock {
  /** Others may have the name from then on. */
  release(): Promise<void>
}

export interface LockOptions {
  /** Another process has the name now: the store could not be reached for a while. Called at most once. */
  readonly onLocked: () => void
  /** ms to wait for another holder to end; one whose machine vanished is forgotten within 9 s. Default 12,000. */
  readonly timeout?: number
}

export interface Store {
  readonly engine: 'sqlite' | 'postgres'
  readonly tokens: TokenStore
  readonly records: RecordStore
  readonly tenants: TenantStore
  readonly keys: KeyStore
  readonly sealed: SealedStore
  readonly logs: LogStore
  readonly usage: UsageStore
  readonly idempotency: IdempotencyStore
  readonly tenantPurge: TenantPurge
  /** Rejects when the store cannot read or, for `writable`, write. */
  health(): Promise<void>
  /** Runs `work` while no other process of the store runs work of this name. */
  withLock<T>(name: string, work: () => Promise<T>): Promise<T>
  /**
   * Takes a name that one process of the store has at a time, until it is released or this process ends, however it ends.
   * Undefined when another live process has it.
   */
  acquireLock(name: string, options: LockOptions): Promise<StoreLock | undefined>
  /** ms since the epoch by the clock of the store's server, which its machines share; without one, of this machine. */
  time(): Promise<number>
  /** Somebody says that another process has moved a change counter: they are read before they are used again. */
  changed(): void
  /** Waits for acknowledged writes. */
  close(): Promise<void>
}
