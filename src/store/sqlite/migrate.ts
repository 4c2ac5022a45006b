import { sql } from 'kysely'
import { AppError } from '../../common/errors.ts'
import { migrations, SCHEMA_VERSION } from '../migrations/index.ts'
import type { Columns } from '../migrations/migration.ts'
import { rejectUnsupportedVersion } from '../schema-version.ts'
import type { Connection } from './connection.ts'
import { sqliteDialect } from './dialect.ts'

const columns: Columns = {
  engine: 'sqlite',
  text: sql`text`,
  integer: sql`integer`,
  bytes: sql`blob`,
  // Without AUTOINCREMENT the number of the newest deleted row would be reused.
  sequence: sql`integer primary key autoincrement`,
  table: sql`strict`,
  clustered: sql`strict, without rowid`,
}

/** Schema version of the file; 0 when it is empty. */
export const schemaVersion = (db: Connection): number => {
  const present = db.prepare("select 1 from sqlite_schema where name = 'schema_migrations'").get()
  if (present === undefined) return 0
  return db.prepare('select coalesce(max(version), 0) from schema_migrations').pluck().get() as number
}

/** Rejects a database with tables of another program. */
const rejectForeign = (db: Connection): void => {
  if (db.prepare("select 1 from sqlite_schema where type = 'table' limit 1").get() !== undefined)
    throw new AppError(
      'invalid',
      'The database contains tables of another program. Use a separate file for Sidevault. Nothing was changed.',
    )
}

/**
 * Migrates the schema to the version of this program (or to `target`, for upgrade tests), in one transaction. With
 * several concurrent starts one migrates and the others wait for its commit.
 */
export const migrate = (db: Connection, now: number, target: number = SCHEMA_VERSION): void => {
  db.exec('begin immediate')
  try {
    const current = schemaVersion(db)
    rejectUnsupportedVersion(current)
    if (current === 0) {
      rejectForeign(db)
      db.exec(
        'create table schema_migrations (version integer primary key, name text not null, applied_at integer not null) strict',
      )
    }
    for (const { version, name, up } of migrations.slice(current, target)) {
      for (const step of up(sqliteDialect.builder, columns)) db.exec(step.compile().sql)
      db.prepare('insert into schema_migrations (version, name, applied_at) values (?, ?, ?)').run(
        version,
        name,
        now,
      )
    }
    db.exec('commit')
  } catch (thrown) {
    if (db.inTransaction) db.exec('rollback')
    throw thrown
  }
}
