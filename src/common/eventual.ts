/**
 * A value, or a promise of it where something must be waited for. Hot paths return values: a promise costs a turn of
 * the microtask queue, several objects, and the closures around it. Such a function may throw and may reject.
 */
export type Eventual<T> = T | Promise<T>

/** `next` with the value, now if it is there. */
export const whenReady = <T, R>(value: Eventual<T>, next: (value: T) => Eventual<R>): Eventual<R> =>
  value instanceof Promise ? value.then(next) : next(value)
