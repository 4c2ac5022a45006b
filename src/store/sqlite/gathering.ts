/**
 * Maximum ms after a group that the next one waits for as many calls as the group had. A group costs several times as
 * much as one more write in it, and callers usually write again: through Envoy within some milliseconds. Single or
 * later writes do not wait.
 */
const GATHER = 4

interface Gathering {
  /** A group completed, with this number of calls in progress. */
  completed(calls: number): void
  /** ms that the next group waits for more than these calls; 0: it is sent now. */
  wait(calls: number): number
}

/** `now`: ms of a monotonic clock. */
export const createGathering = (now: () => number): Gathering => {
  let expected = 0
  let completedAt = 0
  return {
    completed: (calls) => {
      expected = calls
      completedAt = now()
    },
    wait: (calls) => (calls < expected ? Math.max(0, completedAt + GATHER - now()) : 0),
  }
}
