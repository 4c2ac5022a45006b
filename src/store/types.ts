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

/** Removes expired records and idempotency records, past months' activity, and rows of deleted tenants. */
export interface TenantPurge {
  /** Removes at most `limit` rows of each table, and of each deleted tenant; returns their number. */
  purge(now: number, limit: number): Promise<number>
}

export interface StoreLock {
  /** Releases the lock. */
  release(): Promise<void>
}

export interface LockOptions {
  /** Another process has acquired the lock while the store was unreachable. Called at most once. */
  readonly onLocked: () => void
  /** ms to wait for another holder to exit; one whose machine vanished is dropped within 9 s. Default 12,000. */
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
   * Acquires a lock that one process of the store holds at a time, until it is released or this process exits. Undefined
   * when another live process holds it.
   */
  acquireLock(name: string, options: LockOptions): Promise<StoreLock | undefined>
  /** ms since the epoch by the clock of the database server, which its machines share; without one, of this machine. */
  time(): Promise<number>
  /** Waits for acknowledged writes. */
  close(): Promise<void>
}
