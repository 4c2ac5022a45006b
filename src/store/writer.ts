import { AppError } from '../common/errors.ts'
import type { Command } from './command.ts'
import type { IdempotencyLease } from './lease.ts'

/** Runs commands in transactions. A result arrives after its commit is on disk. */
export interface Writer {
  /**
   * `bytes`: estimated size of the arguments, for the bound on the queue. `lease`: under which the command runs
   * (`IdempotencyStore.runWithLease`). Rejects with AppError only.
   */
  write<A extends object, R>(
    command: Command<A, R>,
    args: A,
    bytes?: number,
    lease?: IdempotencyLease,
  ): Promise<R>
  /** Waits for accepted writes. */
  close(): Promise<void>
}

export interface WriterLimits {
  /** Maximum queued writes. */
  readonly maxQueued: number
  /** Maximum bytes of queued writes. */
  readonly maxBytes: number
}

export const DEFAULT_LIMITS: WriterLimits = { maxQueued: 8_192, maxBytes: 64 * 1024 * 1024 }

/** A writer that rejects every write, for read-only processes. */
export const readOnlyWriter: Writer = {
  write: () =>
    Promise.reject(
      new AppError('internal', 'This process opened the store read-only; only the admin role writes.'),
    ),
  close: async () => {},
}
