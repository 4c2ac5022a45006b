/** `timers/promises`. */
import { setImmediate as startImmediate, setTimeout as startTimeout } from '../timers.ts'

export const setTimeout = <T>(delay?: number, value?: T): Promise<T | undefined> =>
  new Promise((resolve) => startTimeout(() => resolve(value), delay))

export const setImmediate = <T>(value?: T): Promise<T | undefined> =>
  new Promise((resolve) => startImmediate(() => resolve(value)))
