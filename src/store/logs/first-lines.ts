import type { LogRow } from './types.ts'

/**
 * Rows from the front: at least `least`, if there are as many, and up to the end of a line of the journal, since a
 * position is always the end of one.
 */
export const firstLines = (rows: readonly LogRow[], least: number): readonly LogRow[] => {
  let end = Math.min(least, rows.length)
  while (end < rows.length && rows[end]?.hash === rows[end - 1]?.hash) end++
  return rows.slice(0, end)
}
