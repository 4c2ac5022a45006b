import type { LogRow } from './types.ts'

/** Rows of one write, about: a call of a vault on SQLite may wait for it, 1 to 2 ms. */
const SLICE = 100

/** Rows in slices, in order. A line of a journal is in one of them, since a position is always the end of a line. */
export const slicesOf = (rows: readonly LogRow[]): readonly (readonly LogRow[])[] => {
  const slices: LogRow[][] = []
  for (const [at, row] of rows.entries()) {
    const slice = slices.at(-1)
    const isSameLine = rows[at - 1]?.hash === row.hash
    if (slice !== undefined && (slice.length < SLICE || isSameLine)) slice.push(row)
    else slices.push([row])
  }
  return slices
}
