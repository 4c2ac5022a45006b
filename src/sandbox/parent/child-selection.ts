import type { Child } from './child.ts'

type Candidate = Pick<Child, 'busy' | 'programs' | 'knows'>

/**
 * Selects a child for an invocation: prefers children that have the program's isolate, then idle ones, then the one
 * with the fewest programs. `able` must not be empty.
 */
export const chooseChild = <T extends Candidate>(able: readonly T[], key: string): T => {
  const knowing = able.filter((child) => child.knows(key))
  const [best] = (knowing.length > 0 ? knowing : able).toSorted(
    (a, b) => Number(a.busy) - Number(b.busy) || a.programs - b.programs,
  )
  if (best === undefined) throw new Error('chooseChild needs at least one child')
  return best
}
