import type { IdempotencyLease } from './types.ts'
import type { CommandName, Commands } from './write-commands.ts'

/** Runs commands in transactions. A command's answer arrives after its commit is on disk. */
export interface Writer {
  /**
   * `bytes`: about how much the arguments hold, for the bound on what may wait. `right`: under which the command runs
   * (`AnswerStore.during`). Rejects with AppError only.
   */
  write<N extends CommandName>(
    command: N,
    args: Commands[N]['args'],
    bytes?: number,
    lease?: IdempotencyLease,
  ): Promise<Commands[N]['result']>
  /** Waits for what was accepted. */
  close(): Promise<void>
}
