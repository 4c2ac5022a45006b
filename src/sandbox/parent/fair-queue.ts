import { LRUCache } from 'lru-cache'

/** Minimum charge of a turn in ms, and its charge until the duration is known. */
const TURN_MS = 1
/** Names whose use is remembered. */
const MAX_RETAINED = 1_000

/**
 * Start-time fair queueing (Goyal, Vin, Cheng, SIGCOMM 1996): the name with the least use is next. An idle name
 * continues at the current level, so it saves up no credit.
 */
export const createFairClock = () => {
  const marks = new LRUCache<string, number>({ max: MAX_RETAINED })
  let level = 0

  const markOf = (name: string): number => Math.max(marks.get(name) ?? 0, level)
  const add = (name: string, ms: number): void => void marks.set(name, markOf(name) + ms)

  return {
    markOf,
    /** Starts a turn. */
    turn: (name: string): void => {
      level = markOf(name)
      add(name, TURN_MS)
    },
    /** Charges a completed turn. */
    charge: (name: string, ms: number): void => {
      if (ms > TURN_MS) add(name, ms - TURN_MS)
    },
  }
}

export type FairClock = ReturnType<typeof createFairClock>
