import type { monitorEventLoopDelay } from 'node:perf_hooks'

/** Precision while the process is busy, ms. */
export const PRECISION_MS = 10
/** Work in one interval, ms, from which on a process is busy. */
const BUSY_MS = 10

interface LagMeter {
  /** Called at each sample, with the milliseconds of work of the event loop since the last call. */
  sample(active: number): void
  /** Milliseconds of the longest turn since the last call, at most `PRECISION_MS` too little. */
  longest(): number
}

/**
 * Measures turns of the event loop precisely while a process is busy. While it is idle no turn can be longer than all
 * of its work, so nothing has to wake it for that.
 */
export const createLagMeter = (
  histogram: Pick<ReturnType<typeof monitorEventLoopDelay>, 'enable' | 'disable' | 'reset' | 'max'>,
): LagMeter => {
  let precise = false
  let longest = 0
  const read = () => {
    // Without a value the maximum is 0. Each value contains the interval itself.
    longest = Math.max(longest, histogram.max / 1e6 - PRECISION_MS)
    histogram.reset()
  }
  return {
    sample: (active) => {
      if (precise) read()
      else longest = Math.max(longest, active)
      const busy = active >= BUSY_MS
      if (busy === precise) return
      precise = busy
      if (precise) histogram.enable()
      else histogram.disable()
    },
    longest: () => {
      if (precise) read()
      const ms = longest
      longest = 0
      return ms
    },
  }
}
