/** Bounds on what a gateway process works on at once (DESIGN §7.9). Waiting for a slow caller's body is not work. */
import { AppError } from '../common/errors.ts'

export interface Admission {
  /** Runs the work, or rejects with `overloaded` at once when the bounds are reached. */
  run<T>(bytes: number, work: () => Promise<T>): Promise<T>
  readonly running: number
}

export const createAdmission = (limits: { readonly running: number; readonly bytes: number }): Admission => {
  let running = 0
  let held = 0
  return {
    async run(bytes, work) {
      // A single body always fits, whatever the bound is set to.
      if (running >= limits.running || (held > 0 && held + bytes > limits.bytes))
        throw new AppError('overloaded', 'The gateway handles as many requests as it can. Retry later.', {
          retryAfter: 1,
        })
      running++
      held += bytes
      try {
        return await work()
      } finally {
        running--
        held -= bytes
      }
    },
    get running() {
      return running
    },
  }
}
