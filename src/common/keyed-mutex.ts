/** Runs `work` under a key's lock. Resolves or rejects as `work` does. Packages such as `p-limit` have no keys. */
export type RunExclusive = <T>(key: string, work: () => Promise<T>) => Promise<T>

/**
 * Mutex per key, for optimistic read-modify-write changes: n concurrent ones would need n²/2 attempts. In turn they
 * conflict only with those of other processes.
 */
export const createKeyedMutex = (): RunExclusive => {
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

interface Slots {
  running: number
  readonly waiting: (() => void)[]
}

/** Semaphore per key: at most `limit` run concurrently under one key, the others wait in order. */
export const createKeyedSemaphore = (limit: number): RunExclusive => {
  const byKey = new Map<string, Slots>()
  return async (key, work) => {
    const slots = byKey.get(key) ?? { running: 0, waiting: [] }
    byKey.set(key, slots)
    if (slots.running < limit) slots.running++
    else await new Promise<void>((resolve) => slots.waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = slots.waiting.shift()
      if (next !== undefined) next()
      else if (--slots.running === 0) byKey.delete(key)
    }
  }
}
