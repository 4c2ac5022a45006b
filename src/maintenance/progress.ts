import type { Print } from './open-vault.ts'

/** ms between two lines. */
const EVERY = 10_000

/** Tells of a long copy that it goes on: how many rows of a table are done, every ten seconds at most. */
export const createProgress = (print: Print, now: () => number = () => performance.now()) => {
  let reported = now()
  return (table: string, rows: number): void => {
    if (now() - reported < EVERY) return
    reported = now()
    print(`        ${table}: ${rows} rows`)
  }
}
