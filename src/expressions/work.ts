import { badExpression } from './errors.ts'
import { LIMITS } from './limits.ts'

/**
 * What the expressions of one call may cost together: each is small, but a body or a mask can hold very many. Counted in
 * units of up to 0.1 µs for what filters read and make, so that what is refused once is refused always.
 */
export interface Work {
  /** Throws `invalid_expression` when more is used than there is, or when the call takes too long. */
  use(units: number): void
}

const exhausted = () =>
  badExpression('The expressions take more time or memory than they may. Make them simpler or fewer.')

/** `units`, counted in `whole` as well. With `milliseconds` it ends then too, by the clock `now`. */
export const createWork = (
  units: number,
  whole?: Work,
  milliseconds = Number.POSITIVE_INFINITY,
  now: () => number = () => performance.now(),
): Work => {
  const deadline = milliseconds === Number.POSITIVE_INFINITY ? milliseconds : now() + milliseconds
  let left = units
  let unchecked = 0
  return {
    use: (wanted) => {
      if (wanted > 0) left -= wanted
      if (left < 0) throw exhausted()
      unchecked += wanted
      if (unchecked >= LIMITS.between && deadline !== Number.POSITIVE_INFINITY) {
        unchecked = 0
        if (now() > deadline) throw exhausted()
      }
      whole?.use(wanted)
    },
  }
}

/** For all that one call evaluates: the expressions of its body, the masks of the tokens that it reads, makes or uses. */
export const bodyWork = (): Work => createWork(LIMITS.bodyWork, undefined, LIMITS.milliseconds)

/** For all expressions of a body that comes in parts. */
export interface GrowingWork extends Work {
  /** So many bytes more have come. */
  came(bytes: number): void
}

/** It grows with the body, so that a large one may hold as many expressions for its size as a whole one. */
export const growingWork = (): GrowingWork => {
  let left: number = LIMITS.bodyWork
  return {
    use: (wanted) => {
      if (wanted > 0) left -= wanted
      if (left < 0) throw exhausted()
    },
    came: (bytes) => {
      left += bytes * LIMITS.byteWork
    },
  }
}

/** For what is evaluated without a pause: one stored expression, all of one mask, or one text; counted in `whole` as well. */
export const storedWork = (whole?: Work): Work => createWork(LIMITS.expressionWork, whole)
