import { badExpression } from './errors.ts'
import { LIMITS } from './limits.ts'

/**
 * Budget of all expressions of one call: each is small, but a body or a mask can contain very many. Counted in units of
 * up to 0.1 µs for input and output of filters, so that results are deterministic.
 */
export interface Work {
  /** Throws `invalid_expression` when the budget is exhausted, or the call takes too long. */
  use(units: number): void
}

const exhausted = () =>
  badExpression('The expressions exceed the limit of time or memory. Use simpler or fewer ones.')

/** A budget of `units`, also charged to `total`. `milliseconds`: time limit by the clock `now`. */
const createWork = (
  units: number,
  total?: Work,
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
      total?.use(wanted)
    },
  }
}

/** Budget of one call: the expressions of its body, and the masks of its tokens. */
export const bodyWork = (now?: () => number): Work =>
  createWork(LIMITS.bodyWork, undefined, LIMITS.milliseconds, now)

/** Budget of a streamed body. */
export interface GrowingWork extends Work {
  /** Adds the units of received bytes. */
  grow(bytes: number): void
}

/** Creates a budget that grows with the body, in the ratio of a buffered body. */
export const growingWork = (): GrowingWork => {
  let left: number = LIMITS.bodyWork
  return {
    use: (wanted) => {
      if (wanted > 0) left -= wanted
      if (left < 0) throw exhausted()
    },
    grow: (bytes) => {
      left += bytes * LIMITS.byteWork
    },
  }
}

/** Budget of work without a pause: one stored expression, one complete mask, or one text; also charged to `total`. */
export const storedWork = (total?: Work): Work => createWork(LIMITS.expressionWork, total)
