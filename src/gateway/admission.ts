/** Bounds on what a gateway process works on at once (DESIGN §7.9). Waiting for a slow caller's body is not work. */
import { AppError } from '../common/errors.ts'

export interface Admission {
  /** Runs the work, or rejects with `overloaded` at once when the bounds are reached; also those of its `owner`. */
  run<T>(bytes: number, work: () => Promise<T>, owner?: string): Promise<T>
  readonly running: number
}

export interface AdmissionLimits {
  readonly running: number
  readonly bytes: number
  /** Running for one owner; default: as many as for all. */
  readonly ofOwner?: number
}

export const createAdmission = (limits: AdmissionLimits): Admission => {
  const { ofOwner = limits.running } = limits
  const owners = new Map<string, number>()
  let running = 0
  let held = 0
  return {
    async run(bytes, work, owner = '') {
      // A single body always fits, whatever the bound is set to.
      const own = owners.get(owner) ?? 0
      if (running >= limits.running || own >= ofOwner || (held > 0 && held + bytes > limits.bytes))
        throw new AppError('overloaded', 'The gateway handles as many requests as it can. Retry later.', {
          retryAfter: 1,
        })
      running++
      owners.set(owner, own + 1)
      held += bytes
      try {
        return await work()
      } finally {
        running--
        const rest = (owners.get(owner) ?? 0) - 1
        if (rest > 0) owners.set(owner, rest)
        else owners.delete(owner)
        held -= bytes
      }
    },
    get running() {
      return running
    },
  }
}
