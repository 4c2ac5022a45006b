import { AppError } from '../../common/errors.ts'
import { SCHEMA_VERSION } from '../migrations/index.ts'
import { type PostgresTarget, postgresTarget } from '../snapshot/postgres.ts'
import { sqliteContent } from '../snapshot/sqlite.ts'
import type { SnapshotContent, SnapshotTable } from '../snapshot/types.ts'
import { type Connection, connect } from '../sqlite/connection.ts'
import { schemaVersion } from '../sqlite/migrate.ts'
import { addReadOnlyTriggers, rejectMigrated } from '../sqlite/migrated.ts'
import { createChecksum } from './checksum.ts'

interface MigrateOptions {
  /** Path of the SQLite file. */
  readonly from: string
  /** Address of an empty database. */
  readonly to: string
  /** Called after a table was copied and compared. */
  readonly onTable?: (name: string, rows: number) => void
  /** Called while a table is copied. */
  readonly onRows?: (name: string, rows: number) => void
}

/** Copies a table, then compares what was written. Returns the row count. */
const copyTable = async (
  source: SnapshotContent,
  target: PostgresTarget,
  table: SnapshotTable,
  onRows: (rows: number) => void,
): Promise<number> => {
  const read = createChecksum()
  for await (const rows of source.rows(table)) {
    read.add(rows)
    await target.insert(table, rows)
    onRows(read.sum().rows)
  }
  const written = createChecksum()
  for await (const rows of target.rows(table)) written.add(rows)
  const [before, after] = [read.sum(), written.sum()]
  if (before.rows !== after.rows || before.hash !== after.hash)
    throw new AppError(
      'internal',
      `Table "${table.name}" differs in PostgreSQL (${after.rows} of ${before.rows} rows). Nothing was stored; the vault in the file is unchanged.`,
    )
  return before.rows
}

const copyAll = async (source: SnapshotContent, { to, onTable, onRows }: MigrateOptions): Promise<number> => {
  const target = await postgresTarget(to, SCHEMA_VERSION)
  try {
    let rows = 0
    for (const table of source.tables) {
      const { name } = table
      const copied = await copyTable(source, target, table, (count) => onRows?.(name, count))
      onTable?.(name, copied)
      rows += copied
    }
    await target.finish(source.sequences)
    await target.commit()
    return rows
  } catch (thrown) {
    await target.abort()
    throw thrown
  }
}

/** `invalid` for a file with another schema version, or one that was migrated already. */
const rejectUnfit = (db: Connection): void => {
  rejectMigrated(db)
  if (schemaVersion(db) !== SCHEMA_VERSION)
    throw new AppError(
      'invalid',
      'The file does not have the schema of this version. Start this version once on it, then migrate.',
    )
}

/**
 * Copies a vault from a SQLite file into an empty PostgreSQL database: every row, compared by count and hash before the
 * one commit. A service may run on the file: it continues to read; its writes are rejected during the copy and after
 * it, so the copy holds everything it acknowledged. A failure before the commit leaves both unchanged. Returns the row
 * count.
 */
export const copyToPostgres = async (options: MigrateOptions): Promise<number> => {
  const db = connect(options.from, { readonly: false })
  try {
    rejectUnfit(db)
    // Writers wait 5 s, then fail with "busy"; readers are not affected.
    db.exec('begin immediate')
    // Creating triggers does not wait: a failure here comes before any copying.
    addReadOnlyTriggers(db)
    const rows = await copyAll(sqliteContent(db), options)
    db.exec('commit')
    return rows
  } catch (thrown) {
    if (db.inTransaction) db.exec('rollback')
    throw thrown
  } finally {
    db.close()
  }
}
