import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Throttle: a call runs `work` now, or once more `ms` after the run in progress. Runs never overlap, and a run always
 * follows the last call. `work` must not reject.
 */
export const createPaced = (ms: number, work: () => Promise<void>): (() => void) => {
  let due = false
  let busy = false
  const run = async () => {
    busy = true
    while (due) {
      due = false
      await work()
      await sleep(ms, undefined, { ref: false })
    }
    busy = false
  }
  return () => {
    due = true
    if (!busy) void run()
  }
}
