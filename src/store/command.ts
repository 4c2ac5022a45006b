import type { Session } from './session.ts'

/** Result of a transaction, and its last statements, which may be sent in one packet with the commit. */
export interface Work<T> {
  readonly result: T
  readonly last?: Promise<unknown>
}

/** Several calls of a command, written in one transaction. */
export interface Batch<A, R> {
  /** How many of these waiting calls, from the front, are written together: at least one. */
  readonly size: (calls: readonly A[]) => number
  /** Results in the order of the calls. When it or `last` throws no call took effect, and each is run by itself. */
  readonly run: (session: Session, calls: readonly A[]) => Promise<Work<readonly R[]>>
}

/**
 * A write of the store: all that engines, queues, leases and caches must know of it. It runs in a transaction of its
 * own; arguments and result are plain data, so that it can run on another thread.
 */
export interface Command<A extends object = never, R = unknown> {
  /** `<entity>.<verb>`, unique; a writer thread finds the command by it. */
  readonly name: string
  /** Has no effect when it throws. */
  readonly run: (session: Session, args: A) => Promise<R>
  /** Tenant that the command runs for, within its share of the writer; undefined: the service itself. */
  readonly tenantOf: (args: A) => string | undefined
  /** Rows that it may see under row-level security (PostgreSQL): those of the tenants that it names, or all. */
  readonly scope: 'tenant' | 'service'
  /** An effect of a caller's request: written under the idempotency lease of that request. */
  readonly isEffect: boolean
  /** Large work for which no caller waits: it yields to calls. */
  readonly isMaintenance: boolean
  /** Moves change counters that caches compare. */
  readonly movesCounters: boolean
  /** Keys are destroyed: the write-ahead log, which still has their bytes, is truncated after it. */
  readonly destroysKeys: boolean
  /** Absent: each call has a transaction, or a savepoint, of its own. */
  readonly batch?: Batch<A, R>
}

/** Declares a command. `commands.ts` must list it. */
export const defineCommand = <A extends object, R>(command: Command<A, R>): Command<A, R> => command
