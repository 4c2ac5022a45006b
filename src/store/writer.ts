import type { IdempotencyLease } from './types.ts'
import type { CommandName, Commands } from './write-commands.ts'

/** Runs commands in transactions. A result arrives after its commit is on disk. */
export interface Writer {
  /**
   * `bytes`: estimated size of the arguments, for the bound on the queue. `lease`: under which the command runs
   * (`IdempotencyStore.runWithLease`). Rejects with AppError only.
   */
  write<N extends CommandName>(
    command: N,
    args: Commands[N]['args'],
    bytes?: number,
    lease?: IdempotencyLease,
  ): Promise<Commands[N]['result']>
  /** Waits for accepted writes. */
  close(): Promise<void>
}
