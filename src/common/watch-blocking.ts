import type { Log } from './log.ts'
import { createLogThrottle } from './log-throttle.ts'

/** Shortest turn of the event loop that is logged, and the interval at which turns are measured, ms. */
const BLOCKED_MS = 200
const INTERVAL_MS = 100

/** Runs a function. */
export type WatchBlocking = <T>(run: () => Promise<T>) => Promise<T>

/**
 * Logs when the event loop is blocked while a function of a plugin runs, with the milliseconds. `log` names the
 * plugin.
 */
export const createWatchBlocking = (log: Log): WatchBlocking => {
  const throttle = createLogThrottle()
  return async (run) => {
    let last = performance.now()
    const measure = (interval: number) => {
      const now = performance.now()
      const ms = Math.round(now - last - interval)
      last = now
      if (ms >= BLOCKED_MS && throttle('blocked') !== undefined)
        log.warn({ ms }, 'the event loop was blocked while this ran; split the work, or move it to a worker')
    }
    const timer = setInterval(measure, INTERVAL_MS, INTERVAL_MS).unref()
    try {
      const running = run()
      measure(0)
      return await running
    } finally {
      clearInterval(timer)
      measure(INTERVAL_MS)
    }
  }
}
