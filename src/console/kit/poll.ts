let arePaused = false

/** Pauses all polls, while no user is signed in. */
export const pausePolls = (paused: boolean): void => {
  arePaused = paused
}

/**
 * Runs `work` every `ms` while the page is visible, and at once when it becomes visible again. Calls that it makes
 * should be in the `background`, so that a page that is left open does not hold its session open.
 */
export const poll = (ms: number, work: () => void, signal: AbortSignal): void => {
  let ranAt = Date.now()
  const run = () => {
    if (arePaused || document.visibilityState !== 'visible' || Date.now() - ranAt < ms - 50) return
    ranAt = Date.now()
    work()
  }
  const timer = setInterval(run, ms)
  document.addEventListener('visibilitychange', run, { signal })
  signal.addEventListener('abort', () => clearInterval(timer))
}
