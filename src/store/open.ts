import { AppError } from '../common/errors.ts'
import type { Log } from '../common/log.ts'
import type { PostgresSettings } from './postgres/open.ts'
import { openSqlite } from './sqlite/open.ts'
import type { WriterLimits } from './sqlite/writer.ts'
import type { Store } from './types.ts'

export interface OpenStoreOptions {
  /** Path of a SQLite file, whose directory exists, or `postgres://…`. */
  readonly location: string
  /**
   * `read-write` brings the schema up to date first. `join` and `read-only` wait until another process did; `join` writes
   * seldom, and gets its writer with its first write; `read-only` refuses every write.
   */
  readonly mode: 'read-write' | 'join' | 'read-only'
  readonly log: Log
  /** ms to wait for other processes that start at the same time. */
  readonly timeout?: number
  readonly limits?: Partial<WriterLimits>
  /** For PostgreSQL. */
  readonly postgres?: PostgresSettings
  /** On a store that several machines share: called after a write of this process has moved a change counter. */
  readonly onMoved?: () => void
}

/** Errors: `invalid` (not a database of ours, or of a newer version), `gateway_timeout`, `overloaded`; each with its remedy. */
export const openStore = async (options: OpenStoreOptions): Promise<Store> => {
  const { location, mode, log, timeout = 15_000, limits, postgres, onMoved } = options
  if (/^postgres(ql)?:\/\//.test(location)) {
    // Most processes start without.
    const { openPostgres } = await import('./postgres/open.ts')
    const more = {
      ...(limits ? { limits } : {}),
      ...(postgres ? { settings: postgres } : {}),
      ...(onMoved ? { onMoved } : {}),
    }
    return openPostgres({ log }, { address: location, mode, timeout, ...more })
  }
  // The rest of the address may hold a password.
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(location))
    throw new AppError(
      'invalid',
      `This version stores in SQLite files and in PostgreSQL, not in "${location.slice(0, location.indexOf(':'))}". Set SIDEVAULT_STORE to postgres://…, or leave it out.`,
    )
  return openSqlite({ log }, { path: location, mode, timeout, ...(limits ? { limits } : {}) })
}
