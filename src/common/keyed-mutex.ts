/** Runs `work` when its key is free. Packages such as `p-limit` have no keys: the map of keys is most of this file. */
export type RunExclusive = <T>(key: string, work: () => Promise<T>) => Promise<T>

/**
 * One holder for each key, in order. For changes that write over the version they read: n concurrent ones would need n²/2
 * attempts. In order, they conflict with those of other processes only.
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

/** At most `most` holders for each key; others wait, in order. */
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
