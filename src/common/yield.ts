/** Milliseconds of long work per turn of the event loop, for all calls together. */
export const SLICE_MS = 10

/** A promise to await when other work is due; undefined when work may continue. */
export type YieldIfDue = (alone?: boolean) => Promise<void> | undefined

/** `yieldIfDue` (`event-loop.ts`) with its own state. `now`: milliseconds of a monotonic clock. */
export const createYield = (now: () => number = () => performance.now(), ms = SLICE_MS): YieldIfDue => {
  /** `alone`: the next step may be long, and gets a turn of its own. */
  const waiting: { readonly resume: () => void; readonly alone: boolean }[] = []
  /** Start of long work in this turn of the loop. */
  let began: number | undefined

  const begin = () => {
    began = now()
    setImmediate(end)
  }
  const isOver = () => began !== undefined && now() - began >= ms
  /** Each goes on in a microtask, and the next one when it has paused again. */
  const resumeNext = () => {
    if (isOver() || waiting[0]?.alone !== false) return
    waiting.shift()?.resume()
    queueMicrotask(resumeNext)
  }
  /** Calls that wait come before new ones. */
  const end = () => {
    began = undefined
    const first = waiting.shift()
    if (first === undefined) return
    begin()
    first.resume()
    if (!first.alone) queueMicrotask(resumeNext)
  }

  return (alone = false) => {
    if (began === undefined) begin()
    return alone || isOver() ? new Promise((resume) => waiting.push({ resume, alone })) : undefined
  }
}
