/** Runs `work` when all earlier work under the same key has ended, however that ended. */
export type InTurn = <T>(key: string, work: () => Promise<T>) => Promise<T>

/**
 * Turns for changes that read, decide and write over the version they read. Of n such changes at once, n − 1 would find
 * that another was faster, and start again: n²/2 attempts. One after the other they meet only those of other processes.
 */
export const createTurns = (): InTurn => {
  const last = new Map<string, Promise<unknown>>()
  return async (key, work) => {
    const turn = (last.get(key) ?? Promise.resolve()).then(work)
    const ended = turn.catch(() => {})
    last.set(key, ended)
    try {
      return await turn
    } finally {
      if (last.get(key) === ended) last.delete(key)
    }
  }
}
