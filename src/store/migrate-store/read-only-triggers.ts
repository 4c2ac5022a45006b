import { AppError } from '../../common/errors.ts'
import type { Connection } from '../sqlite/connection.ts'

/**
 * From its commit on nothing is written to the file any more, whoever has it open: what was answered as kept would be
 * missing in the store that the vault was moved to.
 */
export const raiseFence = (db: Connection): void => {
  const tables = db
    .prepare<[], { name: string }>(
      "select name from sqlite_schema where type = 'table' and name not like 'sqlite\\_%' escape '\\'",
    )
    .all()
  for (const { name } of tables)
    for (const verb of ['insert', 'update', 'delete'])
      db.exec(
        `create trigger moved_${name}_${verb} before ${verb} on ${name} begin select raise(abort, 'moved'); end`,
      )
}

/** Throws `invalid` for a vault that lives elsewhere now. */
export const rejectMigrated = (db: Connection): void => {
  const moved = db.prepare(
    "select 1 from sqlite_schema where type = 'trigger' and name = 'moved_tokens_insert'",
  )
  if (moved.get() !== undefined)
    throw new AppError(
      'invalid',
      'This vault was moved to PostgreSQL by "sidevault migrate-store". Set SIDEVAULT_STORE to the database that it was moved to.',
    )
}
