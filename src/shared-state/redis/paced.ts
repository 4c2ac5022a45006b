import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Asks for `work` to be done: at once, or once more when the last time is over and `ms` have passed since. However
 * often it is asked for, it is never done twice at once, and what follows the last asking is never left out. `work`
 * does not reject.
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
