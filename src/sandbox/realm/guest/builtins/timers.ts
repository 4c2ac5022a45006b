/** `timers`. */
import {
  clearImmediate,
  clearInterval,
  clearTimeout,
  setImmediate,
  setInterval,
  setTimeout,
} from '../timers.ts'

export const builtin = { clearImmediate, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout }
