/** Bounds on what a gateway process works on at once (DESIGN §7.9). Waiting for a slow caller's body is not work. */
import { AppError } from '../common/errors.ts'

export interface Admission {
  /**
   * Runs the work, or rejects with `overloaded` at once when a bound is reached: that of all work, or of one of its
   * `owners`, whose places say which of `AdmissionLimits.owners` holds for each.
   */
  run<T>(bytes: number, work: () => Promise<T>, ...owners: readonly string[]): Promise<T>
  readonly running: number
}

interface Bounds {
  readonly running: number
  /** A single body always fits, whatever this is set to. */
  readonly bytes: number
}

export interface AdmissionLimits extends Bounds {
  readonly owners?: readonly Bounds[]
}

interface Use {
  running: number
  bytes: number
}

/** What each of some owners uses; those that use nothing are forgotten. */
const createUses = (bounds: Bounds) => {
  const uses = new Map<string, Use>()
  return {
    runningOf: (owner: string): number => uses.get(owner)?.running ?? 0,
    isFull: (owner: string, bytes: number): boolean => {
      const use = uses.get(owner) ?? { running: 0, bytes: 0 }
      return use.running >= bounds.running || (use.bytes > 0 && use.bytes + bytes > bounds.bytes)
    },
    add: (owner: string, running: number, bytes: number): void => {
      const use = uses.get(owner) ?? { running: 0, bytes: 0 }
      use.running += running
      use.bytes += bytes
      if (use.running > 0) uses.set(owner, use)
      else uses.delete(owner)
    },
  }
}

const EVERYBODY = ''

export const createAdmission = ({ owners = [], ...all }: AdmissionLimits): Admission => {
  const total = createUses(all)
  const places = [total, ...owners.map(createUses)]
  return {
    async run(bytes, work, ...named) {
      const names = [EVERYBODY, ...named]
      const uses = places.slice(0, names.length)
      if (uses.some((use, place) => use.isFull(names[place] as string, bytes)))
        throw new AppError('overloaded', 'The gateway handles as many requests as it can. Retry later.', {
          retryAfter: 1,
        })
      for (const [place, use] of uses.entries()) use.add(names[place] as string, 1, bytes)
      try {
        return await work()
      } finally {
        for (const [place, use] of uses.entries()) use.add(names[place] as string, -1, -bytes)
      }
    },
    get running() {
      return total.runningOf(EVERYBODY)
    },
  }
}
