import { AppError } from '../common/errors.ts'
import type { Log } from '../common/log.ts'
import type { PostgresSettings } from './postgres/open.ts'
import { openSqlite } from './sqlite/open.ts'
import type { Store } from './store.ts'
import type { WriterLimits } from './writer.ts'

interface OpenStoreOptions {
  /** Path of a SQLite file in an existing directory, or `postgres://…`. */
  readonly location: string
  /**
   * `read-write` migrates the schema first. `join` and `read-only` wait until another process did. `join` creates its
   * writer with its first write; `read-only` rejects every write.
   */
  readonly mode: 'read-write' | 'join' | 'read-only'
  readonly log: Log
  /** ms to wait for other processes that start concurrently. */
  readonly timeout?: number
  readonly limits?: Partial<WriterLimits>
  /** Settings for PostgreSQL. */
  readonly postgres?: PostgresSettings
  /** PostgreSQL: rejects a role that is not bound to one tenant. */
  readonly bound?: boolean
}

/**
 * Errors, each with a fix: `invalid` (not a Sidevault database, or a newer version), `gateway_timeout`, `overloaded`.
 */
export const openStore = async (options: OpenStoreOptions): Promise<Store> => {
  const { location, mode, log, timeout = 15_000, limits, postgres, bound } = options
  if (/^postgres(ql)?:\/\//.test(location)) {
    // Most processes never write.
    const { openPostgres } = await import('./postgres/open.ts')
    const more = {
      ...(limits ? { limits } : {}),
      ...(postgres ? { settings: postgres } : {}),
      ...(bound ? { bound } : {}),
    }
    return openPostgres({ log }, { address: location, mode, timeout, ...more })
  }
  // The rest of the address may hold a password.
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(location))
    throw new AppError(
      'invalid',
      `SIDEVAULT_STORE starts with "${location.slice(0, location.indexOf(':'))}". Set it to postgres://… or to the path of a SQLite file.`,
    )
  return openSqlite({ log }, { path: location, mode, timeout, ...(limits ? { limits } : {}) })
}
