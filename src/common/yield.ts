/** Milliseconds of long work per turn of the event loop, for all calls together. */
export const SLICE_MS = 10

/** A promise to await when other work is due; undefined when work may continue. */
export type YieldIfDue = (isDue?: boolean) => Promise<void> | undefined

/** `yieldIfDue` (`event-loop.ts`) with its own state. `now`: milliseconds of a monotonic clock. */
export const createYield = (now: () => number = () => performance.now(), ms = SLICE_MS): YieldIfDue => {
  const waiting: (() => void)[] = []
  /** Start of long work in this turn of the loop. */
  let began: number | undefined

  const begin = () => {
    began = now()
    setImmediate(end)
  }
  /** Waiting calls come before new ones: each goes on in a microtask, and the next one when it has paused again. */
  const resumeNext = () => {
    if (waiting.length === 0 || began === undefined || now() - began >= ms) return
    waiting.shift()?.()
    queueMicrotask(resumeNext)
  }
  const end = () => {
    began = undefined
    if (waiting.length === 0) return
    begin()
    resumeNext()
  }

  return (isDue = false) => {
    if (began === undefined) begin()
    else if (now() - began >= ms) isDue = true
    return isDue ? new Promise((resolve) => waiting.push(resolve)) : undefined
  }
}
