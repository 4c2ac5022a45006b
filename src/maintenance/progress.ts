import type { Print } from './open-vault.ts'

/** ms between two lines. */
const EVERY = 10_000

/** Prints the number of copied rows of a table, at most every ten seconds. */
export const createProgress = (print: Print, now: () => number = () => performance.now()) => {
  let reported = now()
  return (table: string, rows: number): void => {
    if (now() - reported < EVERY) return
    reported = now()
    print(`        ${table}: ${rows} rows`)
  }
}
