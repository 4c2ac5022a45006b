/** Milliseconds of one turn of the event loop that long work may take, all calls together. */
export const SLICE_MS = 10

/** Something to await when others are to be served first; undefined when work may go on. */
export type YieldIfDue = () => Promise<void> | undefined

/** `yieldIfDue` with a state of its own; `now`: milliseconds of a clock that does not go back. */
export const createYield = (now: () => number = () => performance.now(), ms = SLICE_MS): YieldIfDue => {
  const waiting: (() => void)[] = []
  /** When long work began in this turn of the loop. */
  let began: number | undefined

  const begin = () => {
    began = now()
    setImmediate(end)
  }
  const end = () => {
    began = undefined
    const resume = waiting.shift()
    if (resume === undefined) return
    begin()
    resume()
  }

  return () => {
    if (began === undefined) begin()
    else if (now() - began >= ms) return new Promise((resolve) => waiting.push(resolve))
    return undefined
  }
}

/**
 * For every loop over tokens, expressions, rows or records, before each item:
 * `const pause = yieldIfDue(); if (pause) await pause`.
 *
 * Calls share one slice of 10 ms in each turn of the event loop. Those that are out of time wait in line, and one of them
 * goes on in each turn, so that input and output are served in between however many there are. One item must cost less
 * than a slice: it cannot be interrupted.
 */
export const yieldIfDue: YieldIfDue = createYield()

/** `items.map(make)` as long work: see `yieldIfDue`. */
export const mapInTurns = async <T, R>(
  items: readonly T[],
  make: (item: T, index: number) => R,
): Promise<R[]> => {
  const made: R[] = []
  for (const [index, item] of items.entries()) {
    // What is small never waits for others.
    const pause = index > 0 ? yieldIfDue() : undefined
    if (pause) await pause
    made.push(make(item, index))
  }
  return made
}
