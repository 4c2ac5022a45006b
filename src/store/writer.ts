import type { CommandName, Commands } from './commands/registry.ts'
import type { AnswerRight } from './types.ts'

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
    right?: AnswerRight,
  ): Promise<Commands[N]['answer']>
  /** Waits for what was accepted. */
  close(): Promise<void>
}
