import { AppError } from '../../common/errors.ts'
import type { Connection } from '../sqlite/connection.ts'

/**
 * Rejects writes to the file after its commit, from every connection: they would be missing in the store that the vault
 * was migrated to.
 */
export const addReadOnlyTriggers = (db: Connection): void => {
  const tables = db
    .prepare<[], { name: string }>(
      "select name from sqlite_schema where type = 'table' and name not like 'sqlite\\_%' escape '\\'",
    )
    .all()
  for (const { name } of tables)
    for (const verb of ['insert', 'update', 'delete'])
      db.exec(
        `create trigger migrated_${name}_${verb} before ${verb} on ${name} begin select raise(abort, 'migrated'); end`,
      )
}

/** Throws `invalid` for a vault that was migrated to another store. */
export const rejectMigrated = (db: Connection): void => {
  const trigger = db.prepare(
    "select 1 from sqlite_schema where type = 'trigger' and name = 'migrated_tokens_insert'",
  )
  if (trigger.get() !== undefined)
    throw new AppError(
      'invalid',
      'This vault was migrated to PostgreSQL by "sidevault migrate-store". Set SIDEVAULT_STORE to that database.',
    )
}
