import { sqliteSnapshot } from './sqlite.ts'
import type { Snapshot } from './types.ts'

/** The store as of now. `location`: as `openStore` is given it. */
export const openSnapshot = async (location: string): Promise<Snapshot> => {
  if (!/^postgres(ql)?:/.test(location)) return sqliteSnapshot(location)
  const { postgresSnapshot } = await import('./postgres.ts')
  return postgresSnapshot(location)
}
