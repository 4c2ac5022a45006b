import { systemClock } from '../common/clock.ts'
import { type ChangeCounters, createChangeCounters, shareChangeCounters } from './change-counters.ts'
import { withLease } from './idempotency/lease.ts'
import { createIdempotencyStore } from './idempotency/repository.ts'
import { createLogStore } from './logs/repository.ts'
import { createTenantPurge } from './purge/repository.ts'
import { createRecordStore } from './records/repository.ts'
import { allChanges } from './records/statements.ts'
import { createSealedStore } from './reencrypt/repository.ts'
import type { Session } from './session.ts'
import { createKeyStore, createTenantStore } from './tenants/repository.ts'
import { createTokenStore } from './tokens/repository.ts'
import type { Store } from './types.ts'
import { createUsageStore } from './usage/repository.ts'
import type { Writer } from './writer.ts'

/** Creates the repositories over one engine's session and writer. */
export const createStore = (
  given: { readonly session: Session; readonly writer: Writer },
  options: {
    readonly writable: boolean
    readonly close: () => Promise<void>
    /** Serializes work of the same name across processes; default: only one process does such work. */
    readonly withLock?: Store['withLock']
    /** Acquires store locks; default: processes share a data directory, whose locks apply. */
    readonly acquireLock?: Store['acquireLock']
    /** The engine's clock; default: this machine's. */
    readonly time?: Store['time']
    /** Change counters of the engine's own. */
    readonly watched?: { readonly changes: ChangeCounters; readonly writer: Writer }
  },
): Store => {
  const { writable, close, watched } = options
  const counters =
    watched ?? (writable ? shareChangeCounters(given) : { ...given, changes: createChangeCounters(given) })
  const deps = { ...given, ...counters, writer: withLease(counters.writer) }
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
    health: async () => {
      await deps.session.all(allChanges, {})
      if (writable) await deps.writer.write('health.touch', {})
    },
    withLock: options.withLock ?? ((_, work) => work()),
    acquireLock: options.acquireLock ?? (async () => ({ release: async () => {} })),
    time: options.time ?? (async () => systemClock.now()),
    close,
  }
}
