import { badExpression } from './faults.ts'
import { LIMITS } from './limits.ts'

/**
 * What the expressions of one answer may cost together: each is small, but a body or a mask can hold very many. Counted
 * in characters and elements handled, so that what is refused once is refused always; tags have a time limit besides.
 * In the form that liquidjs wants its limiters in.
 */
export interface Work {
  /** Throws `bad_expression` when more is used than there is. */
  use(units: number): void
  /** Called for each template and each turn of a loop. */
  check(): void
}

const exhausted = () =>
  badExpression('The expressions take more time or memory than they may. Make them simpler or fewer.')

export const createWork = (units: number, whole?: Pick<Work, 'use'>): Work => {
  const deadline = performance.now() + LIMITS.milliseconds
  let left = units
  const use = (wanted: number): void => {
    if (wanted > 0) left -= wanted
    if (left < 0) throw exhausted()
    whole?.use(wanted)
  }
  return {
    use,
    check: () => {
      use(LIMITS.step)
      if (performance.now() > deadline) throw exhausted()
    },
  }
}

/** For all expressions of a body, or of all tokens made by one call. */
export const bodyWork = (): Work => createWork(LIMITS.bodyWork)

/** For all expressions of a body that comes in parts. */
export interface GrowingWork extends Work {
  /** So many bytes more have come. */
  came(bytes: number): void
}

/** It grows with the body, so that a large one may hold as many expressions for its size as a whole one. */
export const growingWork = (): GrowingWork => {
  let left: number = LIMITS.bodyWork
  const use = (wanted: number): void => {
    if (wanted > 0) left -= wanted
    if (left < 0) throw exhausted()
  }
  return {
    use,
    check: () => use(LIMITS.step),
    came: (bytes) => {
      left += bytes * LIMITS.byteWork
    },
  }
}

/** For one stored expression, or all of one mask; counted in `whole` as well. */
export const storedWork = (whole?: Pick<Work, 'use'>): Work => createWork(LIMITS.storedWork, whole)
