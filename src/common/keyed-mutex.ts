/** Runs `work` when there is a turn for it: in `createTurns`, when all earlier work under the same key has ended, however. */
export type RunExclusive = <T>(key: string, work: () => Promise<T>) => Promise<T>

/**
 * Turns for changes that read, decide and write over the version they read. Of n such changes at once, n − 1 would find
 * that another was faster, and start again: n²/2 attempts. One after the other they meet only those of other processes.
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

interface Room {
  running: number
  readonly waiting: (() => void)[]
}

/** The same for work of which `most` may run under one key at once: the others wait, in order. */
export const createKeyedSemaphore = (most: number): RunExclusive => {
  const rooms = new Map<string, Room>()
  return async (key, work) => {
    const room = rooms.get(key) ?? { running: 0, waiting: [] }
    rooms.set(key, room)
    if (room.running < most) room.running++
    else await new Promise<void>((go) => room.waiting.push(go))
    try {
      return await work()
    } finally {
      const next = room.waiting.shift()
      if (next !== undefined) next()
      else if (--room.running === 0) rooms.delete(key)
    }
  }
}
