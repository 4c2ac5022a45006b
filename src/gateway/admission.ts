/** Bounds on what a gateway process works on at once (docs/security-model.md, "Bounded work"). Waiting for a slow caller's body is not work. */
import { createShares } from '../common/shares.ts'

export interface Admission {
  /** Runs the work, or rejects at once as `Shares.take` throws: for the owner's share, or for all. */
  run<T>(bytes: number, work: () => Promise<T>, ...owner: readonly string[]): Promise<T>
  readonly running: number
}

export interface AdmissionLimits {
  readonly running: number
  /** A single body always fits, whatever this is set to. */
  readonly bytes: number
}

const DETAIL = 'The gateway works on as many requests of this tenant as it can. Retry later.'

export const createAdmission = ({ running, bytes }: AdmissionLimits): Admission => {
  const places = createShares(running, DETAIL)
  const room = createShares(bytes, DETAIL)
  return {
    async run(size, work, ...owner) {
      const place = places.take(1, ...owner)
      try {
        const held = room.take(Math.min(size, bytes), ...owner)
        try {
          return await work()
        } finally {
          held.release()
        }
      } finally {
        place.release()
      }
    },
    get running() {
      return places.held
    },
  }
}
