import { sqliteSnapshot } from './sqlite.ts'
import type { Snapshot } from './types.ts'

/** Opens a snapshot of the store. `location`: as in `openStore`. */
export const openSnapshot = async (location: string): Promise<Snapshot> => {
  if (!/^postgres(ql)?:/.test(location)) return sqliteSnapshot(location)
  const { postgresSnapshot } = await import('./postgres.ts')
  return postgresSnapshot(location)
}
