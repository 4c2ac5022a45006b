import { LRUCache } from 'lru-cache'

/** Milliseconds that a turn counts at least, and while it is not known how long it will be. */
const TURN_MS = 1
/** Names whose past is kept. */
const MAX_RETAINED = 1_000

/**
 * Who has had how much of something: whoever has the least mark is next. One that has had nothing for a while starts where
 * the others are, so nobody saves up (start-time fair queueing: Goyal, Vin, Cheng, SIGCOMM 1996).
 */
export const createShares = () => {
  const marks = new LRUCache<string, number>({ max: MAX_RETAINED })
  let level = 0

  const markOf = (name: string): number => Math.max(marks.get(name) ?? 0, level)
  const add = (name: string, ms: number): void => void marks.set(name, markOf(name) + ms)

  return {
    markOf,
    /** It gets its turn. */
    turn: (name: string): void => {
      level = markOf(name)
      add(name, TURN_MS)
    },
    /** Its turn took so long. */
    charge: (name: string, ms: number): void => {
      if (ms > TURN_MS) add(name, ms - TURN_MS)
    },
  }
}

export type Shares = ReturnType<typeof createShares>
