import type { Child } from './child.ts'

export type Candidate = Pick<Child, 'busy' | 'programs' | 'knows'>

/**
 * Which of the children that may take a program's invocation does: rather one that has its isolate than one that has to make
 * it, rather one that rests; a new program goes to the one that has fewest. `able` is not empty.
 */
export const chooseChild = <T extends Candidate>(able: readonly T[], key: string): T => {
  const knowing = able.filter((child) => child.knows(key))
  const [best] = (knowing.length > 0 ? knowing : able).toSorted(
    (a, b) => Number(a.busy) - Number(b.busy) || a.programs - b.programs,
  )
  if (best === undefined) throw new Error('There is no child to choose.')
  return best
}
