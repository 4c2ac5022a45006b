import { TimeoutError, withTimeout } from '../../common/with-timeout.ts'

/** Turns of the event loop that a reply gets at least: commands are written in one, replies are read in another. */
const STEPS = 5

/**
 * The outcome of `ask`, or a `TimeoutError` after `ms`. A turn of the event loop that takes long counts as a fifth of
 * `ms` only: the command or its reply may have waited for this process, not for Redis.
 */
export const withReplyTimeout = async <T>(ms: number, ask: () => Promise<T>): Promise<T> => {
  const reply = ask()
  for (let step = 1; ; step++)
    try {
      return await withTimeout(ms / STEPS, () => reply)
    } catch (error) {
      if (step === STEPS || !(error instanceof TimeoutError)) throw error
    }
}
