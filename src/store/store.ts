import { systemClock } from '../common/clock.ts'
import { type ChangeCounters, createChangeCounters, shareChangeCounters } from './change-counters.ts'
import { allChanges } from './changes.ts'
import { probeWrite } from './health.ts'
import { withLease } from './idempotency/lease.ts'
import { createIdempotencyStore } from './idempotency/repository.ts'
import type { IdempotencyStore } from './idempotency/types.ts'
import { createKeyStore } from './keys/repository.ts'
import type { KeyStore } from './keys/types.ts'
import type { LockOptions, StoreLock } from './lock.ts'
import { createLogStore } from './logs/repository.ts'
import type { LogStore } from './logs/types.ts'
import { createTenantPurge } from './purge/repository.ts'
import type { TenantPurge } from './purge/types.ts'
import { createRecordStore } from './records/repository.ts'
import type { RecordStore } from './records/types.ts'
import { createSealedStore } from './reencrypt/repository.ts'
import type { SealedStore } from './reencrypt/types.ts'
import type { Session } from './session.ts'
import { createTaskStore } from './tasks/repository.ts'
import type { TaskStore } from './tasks/types.ts'
import { createTenantStore } from './tenants/repository.ts'
import type { TenantStore } from './tenants/types.ts'
import { createTokenStore } from './tokens/repository.ts'
import type { TokenStore } from './tokens/types.ts'
import { createUsageStore } from './usage/repository.ts'
import type { UsageStore } from './usage/types.ts'
import type { Writer } from './writer.ts'

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
  readonly tasks: TaskStore
  /** Rejects when the store cannot read or, for `writable`, write. */
  health(): Promise<void>
  /** Runs `work` while no other process of the store runs work of this name. */
  withLock<T>(name: string, work: () => Promise<T>): Promise<T>
  /**
   * Acquires a lock that one process of the store holds at a time, until it is released or this process exits.
   * Undefined when another live process holds it.
   */
  acquireLock(name: string, options: LockOptions): Promise<StoreLock | undefined>
  /** ms since the epoch by the clock of the database server, which its machines share; without one, of this machine. */
  time(): Promise<number>
  /** Waits for acknowledged writes. */
  close(): Promise<void>
}

/** Creates the repositories over one engine's session and writer. */
export const createStore = (
  engine: { readonly session: Session; readonly writer: Writer },
  options: {
    readonly writable: boolean
    readonly close: () => Promise<void>
    /** Serializes work of the same name across processes; default: only one process does such work. */
    readonly withLock?: Store['withLock']
    /** Acquires store locks; default: processes share a data directory, whose locks apply. */
    readonly acquireLock?: Store['acquireLock']
    /** The engine's clock; default: this machine's. */
    readonly time?: Store['time']
    /** Change counters of the engine's own, and ms until other processes know of a change by them. */
    readonly watched?: {
      readonly changes: ChangeCounters
      readonly writer: Writer
      readonly changesWithinMs: number
    }
  },
): Store => {
  const { writable, close, watched } = options
  const counters =
    watched ?? (writable ? shareChangeCounters(engine) : { ...engine, changes: createChangeCounters(engine) })
  const deps = { changesWithinMs: 0, ...engine, ...counters, writer: withLease(counters.writer) }
  return {
    engine: deps.session.dialect.engine,
    tokens: createTokenStore(deps),
    records: createRecordStore(deps),
    tenants: createTenantStore(deps),
    keys: createKeyStore(deps),
    sealed: createSealedStore(deps),
    logs: createLogStore(deps),
    usage: createUsageStore(deps),
    idempotency: createIdempotencyStore(deps),
    tenantPurge: createTenantPurge(deps),
    tasks: createTaskStore(deps),
    health: async () => {
      await deps.session.all(allChanges, {})
      if (writable) await deps.writer.write(probeWrite, {})
    },
    withLock: options.withLock ?? ((_, work) => work()),
    acquireLock: options.acquireLock ?? (async () => ({ release: async () => {} })),
    time: options.time ?? (async () => systemClock.now()),
    close,
  }
}
