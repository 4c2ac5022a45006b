/**
 * Bounds on what a gateway process works on at once (docs/security-model.md, "Bounded work"). Waiting for a slow
 * caller's body is not work.
 */
import type { Eventual } from '../common/eventual.ts'
import { createShares, type Share } from '../common/shares.ts'

export interface Admission {
  /** Runs the work. Throws as `Shares.take` does: for the owner's share, or for all. */
  run<T>(bytes: number, work: () => Eventual<T>, ...owner: readonly string[]): Eventual<T>
  readonly running: number
}

export interface AdmissionLimits {
  readonly running: number
  /** A single body always fits, whatever this is set to. */
  readonly bytes: number
}

const DETAIL = 'This tenant has too many concurrent requests. Retry later.'

const untilSettled = async <T>(work: Promise<T>, place: Share, held: Share): Promise<T> => {
  try {
    return await work
  } finally {
    held.release()
    place.release()
  }
}

export const createAdmission = ({ running, bytes }: AdmissionLimits): Admission => {
  const places = createShares(running, DETAIL)
  const room = createShares(bytes, DETAIL)
  return {
    run(size, work, ...owner) {
      const place = places.take(1, ...owner)
      let held: Share | undefined
      try {
        held = room.take(Math.min(size, bytes), ...owner)
        const result = work()
        if (result instanceof Promise) return untilSettled(result, place, held)
        held.release()
        place.release()
        return result
      } catch (thrown) {
        held?.release()
        place.release()
        throw thrown
      }
    },
    get running() {
      return places.held
    },
  }
}
