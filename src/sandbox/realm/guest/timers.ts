/** Timers; the child runs them and enters the realm when one is due. */
import { cancelTimer, startTimer } from './bridge.ts'
import { apply, createRegistry } from './intrinsics.ts'
import { fail } from './outcome.ts'

type Callback = (...args: unknown[]) => unknown

interface Pending {
  call: number
}

const LONGEST = 2 ** 31 - 1
const PROMISED = Symbol.for('nodejs.util.promisify.custom')
const timers = createRegistry<number, Pending>()
let lastTimer = 0

const milliseconds = (delay: unknown): number => {
  const ms = typeof delay === 'number' ? delay : Number(delay)
  return ms >= 1 && ms <= LONGEST ? ms : 1
}

/** Timer object like Node's, with a numeric id. */
export class Timeout {
  readonly #id: number

  constructor(id: number) {
    this.#id = id
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  hasRef(): boolean {
    return true
  }

  close(): this {
    clearTimeout(this)
    return this
  }

  [Symbol.toPrimitive](): number {
    return this.#id
  }

  static idOf(timer: unknown): number {
    if (typeof timer === 'object' && timer !== null && #id in timer) return timer.#id
    return typeof timer === 'number' || typeof timer === 'string' ? Number(timer) : 0
  }
}

const { idOf } = Timeout

const start = (callback: unknown, delay: number, args: unknown[], again: boolean): Timeout => {
  if (typeof callback !== 'function')
    throw Object.assign(new TypeError('The "callback" argument must be of type function.'), {
      code: 'ERR_INVALID_ARG_TYPE',
    })
  const id = ++lastTimer
  const due = (failure?: Error) => {
    if (failure) return fail(failure)
    if (again) pending.call = startTimer(delay, due)
    else timers.delete(id)
    try {
      apply(callback as Callback, undefined, args)
    } catch (error) {
      fail(error)
    }
  }
  const pending: Pending = { call: 0 }
  timers.set(id, pending)
  pending.call = startTimer(delay, due)
  return new Timeout(id)
}

export const setTimeout = (callback: unknown, delay?: unknown, ...args: unknown[]): Timeout =>
  start(callback, milliseconds(delay), args, false)

export const setInterval = (callback: unknown, delay?: unknown, ...args: unknown[]): Timeout =>
  start(callback, milliseconds(delay), args, true)

export const setImmediate = (callback: unknown, ...args: unknown[]): Timeout =>
  start(callback, 0, args, false)

/** `setTimeout` of `timers/promises`. */
export const after = <T>(delay?: number, value?: T): Promise<T | undefined> =>
  new Promise((resolve) => setTimeout(() => resolve(value), delay))

/** `setImmediate` of `timers/promises`. */
export const soon = <T>(value?: T): Promise<T | undefined> =>
  new Promise((resolve) => setImmediate(() => resolve(value)))

// results of `util.promisify`
Object.defineProperty(setTimeout, PROMISED, { value: after })
Object.defineProperty(setImmediate, PROMISED, { value: soon })

export const clearTimeout = (timer?: unknown): void => {
  const id = idOf(timer)
  const pending = timers.get(id)
  if (!pending) return
  timers.delete(id)
  cancelTimer(pending.call)
}

export const clearInterval = clearTimeout
export const clearImmediate = clearTimeout

const resolved = Promise.resolve()
const thenDo = Promise.prototype.then

/** Queues a microtask. An error of the callback ends the invocation, as it would end Node. */
export const queueMicrotask = (callback: () => void): void => {
  if (typeof callback !== 'function') throw new TypeError('The "callback" argument must be of type function.')
  apply(thenDo, resolved, [
    () => {
      try {
        callback()
      } catch (error) {
        fail(error)
      }
    },
  ])
}
