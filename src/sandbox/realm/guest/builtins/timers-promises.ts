/** `timers/promises`. */
import { after, soon } from '../timers.ts'

async function* setInterval<T>(delay?: number, value?: T): AsyncGenerator<T | undefined> {
  for (;;) yield await after(delay, value)
}

export const builtin = { setImmediate: soon, setInterval, setTimeout: after }
