/** ms without a key or pointer after which polls pause: a page that is left open does not hold its session open. */
const IDLE_MS = 15 * 60_000

let usedAt = Date.now()

if (globalThis.document !== undefined)
  for (const kind of ['pointerdown', 'pointermove', 'keydown', 'scroll', 'focus'])
    addEventListener(
      kind,
      () => {
        usedAt = Date.now()
      },
      { passive: true, capture: true },
    )

const isWatched = (): boolean => document.visibilityState === 'visible' && Date.now() - usedAt < IDLE_MS

/** Runs `work` every `ms` while the page is visible and in use, and at once when it becomes visible again. */
export const poll = (ms: number, work: () => void, signal: AbortSignal): void => {
  let ranAt = Date.now()
  const run = () => {
    if (!isWatched() || Date.now() - ranAt < ms) return
    ranAt = Date.now()
    work()
  }
  const timer = setInterval(run, ms)
  document.addEventListener('visibilitychange', run, { signal })
  signal.addEventListener('abort', () => clearInterval(timer))
}
