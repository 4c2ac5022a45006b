import type { Eventual } from './eventual.ts'
import { createYield, SLICE_MS, type YieldIfDue } from './yield.ts'

/**
 * For every loop over tokens, expressions, rows or records, before each item:
 * `const pause = yieldIfDue(); if (pause) await pause`.
 *
 * Calls share one slice of 10 ms in each turn of the event loop. Calls beyond it queue, and continue in the slices of
 * later turns before new ones, so that I/O is served in between at any number of calls. One item must cost less than a
 * slice: it cannot be interrupted.
 */
export const yieldIfDue: YieldIfDue = createYield()

/**
 * Runs an indivisible step of a call. If it was long, yields, so that the next step gets its own turn of the event
 * loop. Short steps never wait.
 */
export const inOwnTurn = async <T>(step: () => T): Promise<T> => {
  const began = performance.now()
  const result = step()
  if (performance.now() - began >= SLICE_MS / 2) await yieldIfDue(true)
  return result
}

/** Maps the items behind those of `results`. `resumed`: a pause before the next one is over. */
const mapFrom = <T, R>(
  items: readonly T[],
  make: (item: T, index: number) => R,
  results: R[],
  resumed: boolean,
): Eventual<R[]> => {
  for (let index = results.length; index < items.length; index++) {
    // A single item never waits.
    const pause = index === 0 || resumed ? undefined : yieldIfDue()
    if (pause) return pause.then(() => mapFrom(items, make, results, true))
    resumed = false
    const began = performance.now()
    results.push(make(items[index] as T, index))
    // Work after the last item is not counted in the slice.
    if (index === items.length - 1 && performance.now() - began >= SLICE_MS / 2)
      return (yieldIfDue(true) as Promise<void>).then(() => results)
  }
  return results
}

/** `items.map(make)` as long work: see `yieldIfDue`. A promise only when other work is due in between. */
export const mapInTurns = <T, R>(items: readonly T[], make: (item: T, index: number) => R): Eventual<R[]> =>
  mapFrom(items, make, [], false)

/** Sequential `Promise.all(items.map(make))` as long work: see `yieldIfDue`. */
export const eachInTurn = async <T, R>(
  items: readonly T[],
  make: (item: T, index: number) => Promise<R>,
): Promise<R[]> => {
  const results: R[] = []
  for (const [index, item] of items.entries()) {
    const pause = index > 0 ? yieldIfDue() : undefined
    if (pause) await pause
    results.push(await make(item, index))
  }
  return results
}
