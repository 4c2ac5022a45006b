const FIRST_MS = 1_000
const MAX_MS = 5 * 60_000

/** ms until a consumer that failed so many times in a row, at least once, is called again: 1 s, 2 s, 4 s, … 5 min. */
export const retryDelay = (failures: number): number => Math.min(FIRST_MS * 2 ** (failures - 1), MAX_MS)
