/** Milliseconds of one turn of the event loop that long work may take, all calls together. */
export const SLICE_MS = 10

/** Something to await when others are to be served first; undefined when work may go on. */
export type YieldIfDue = (isDue?: boolean) => Promise<void> | undefined

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

  return (isDue = false) => {
    if (began === undefined) begin()
    else if (now() - began >= ms) isDue = true
    return isDue ? new Promise((resolve) => waiting.push(resolve)) : undefined
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

/**
 * One step of a call that cannot be divided. When it takes long, others go on behind it, so that the next step has a turn
 * of the event loop of its own. What is small never waits for others.
 */
export const inOwnTurn = async <T>(step: () => T): Promise<T> => {
  const began = performance.now()
  const made = step()
  if (performance.now() - began >= SLICE_MS / 2) await yieldIfDue(true)
  return made
}

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
    // What comes behind the last one has no part in the slice.
    made.push(index === items.length - 1 ? await inOwnTurn(() => make(item, index)) : make(item, index))
  }
  return made
}

/** What `make` resolves to for each item, one after the other, as long work: see `yieldIfDue`. */
export const eachInTurn = async <T, R>(
  items: readonly T[],
  make: (item: T, index: number) => Promise<R>,
): Promise<R[]> => {
  const made: R[] = []
  for (const [index, item] of items.entries()) {
    const pause = index > 0 ? yieldIfDue() : undefined
    if (pause) await pause
    made.push(await make(item, index))
  }
  return made
}
