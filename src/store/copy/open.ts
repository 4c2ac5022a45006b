import { sqliteSnapshot } from './sqlite.ts'
import type { Snapshot } from './types.ts'

/** The store of a configuration as of now. */
export const openSnapshot = async ({ store }: { readonly store: string }): Promise<Snapshot> =>
  sqliteSnapshot(store)
