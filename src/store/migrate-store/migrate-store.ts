import { type Client, DatabaseError } from 'pg'
import { AppError } from '../../common/errors.ts'
import { SCHEMA_VERSION } from '../migrations/index.ts'
import { prepare, withClient } from '../postgres/open.ts'
import { enterScope, SERVICE } from '../postgres/tenant-scope.ts'
import { type Connection, connect } from '../sqlite/connection.ts'
import { schemaVersion } from '../sqlite/migrate.ts'
import { addReadOnlyTriggers, rejectMigrated } from '../sqlite/migrated.ts'
import { createChecksum, type Row, type Sum } from './checksum.ts'
import { insertInto, selectAll, type Table, tablesOf } from './tables.ts'

/** Rows of one statement, and an estimate of their bytes. */
const BATCH = 1_000
const BATCH_BYTES = 8 * 1024 * 1024

export interface MigrateOptions {
  /** Path of the SQLite file. */
  readonly from: string
  /** Address of an empty database. */
  readonly to: string
  /** Called after a table was copied and compared. */
  readonly onTable?: (name: string, rows: number) => void
  /** Called while a table is copied. */
  readonly onRows?: (name: string, rows: number) => void
}

const sizeOf = (row: Row): number =>
  Object.values(row).reduce<number>(
    (sum, value) => sum + (typeof value === 'string' || value instanceof Uint8Array ? value.length : 8),
    0,
  )

const copyTable = async (
  db: Connection,
  client: Client,
  table: Table,
  onRows: (rows: number) => void,
): Promise<Sum> => {
  const checksum = createChecksum(table.columns)
  let batch: Row[] = []
  let bytes = 0
  let copied = 0
  const flush = async (): Promise<void> => {
    if (batch.length === 0) return
    const values = table.columns.map(({ name }) => batch.map((row) => row[name]))
    await client.query({ name: `copy ${table.name}`, text: insertInto(table), values })
    copied += batch.length
    onRows(copied)
    batch = []
    bytes = 0
  }
  for (const row of db.prepare(selectAll(table)).iterate() as IterableIterator<Row>) {
    checksum.add(row)
    batch.push(row)
    bytes += sizeOf(row)
    if (batch.length >= BATCH || bytes >= BATCH_BYTES) await flush()
  }
  await flush()
  return checksum.sum()
}

/** Rows in the database, in the order of the source. */
const sumOf = async (client: Client, table: Table): Promise<Sum> => {
  const checksum = createChecksum(table.columns)
  await client.query(`declare copied no scroll cursor for ${selectAll(table)}`)
  for (;;) {
    const { rows } = await client.query<Row>(`fetch ${BATCH} from copied`)
    if (rows.length === 0) break
    for (const row of rows) checksum.add(row)
  }
  await client.query('close copied')
  return checksum.sum()
}

/** Used sequence numbers are never issued again. */
const restoreSequences = async (db: Connection, client: Client): Promise<void> => {
  const last = db.prepare('select name, seq from sqlite_sequence').all() as { name: string; seq: number }[]
  for (const { name, seq } of last)
    if (seq > 0) await client.query("select setval(pg_get_serial_sequence($1, 'seq'), $2)", [name, seq])
}

const rejectFull = async (client: Client, tables: readonly Table[]): Promise<void> => {
  for (const { name } of tables)
    if ((await client.query(`select 1 from "${name}" limit 1`)).rows.length > 0)
      throw new AppError(
        'invalid',
        'The target database is not empty. Name an empty one. Nothing was changed.',
      )
}

const copyAll = async (db: Connection, client: Client, options: MigrateOptions): Promise<number> => {
  const tables = await tablesOf(db, client)
  await client.query('begin')
  await client.query(
    `lock table ${tables.map(({ name }) => `"${name}"`).join(', ')} in access exclusive mode`,
  )
  await enterScope(client, SERVICE)
  await rejectFull(client, tables)
  let rows = 0
  for (const table of tables) {
    const { name } = table
    const read = await copyTable(db, client, table, (count) => options.onRows?.(name, count))
    const written = await sumOf(client, table)
    if (read.rows !== written.rows || read.hash !== written.hash)
      throw new AppError(
        'internal',
        `Table "${name}" differs in PostgreSQL (${written.rows} of ${read.rows} rows). Nothing was stored; the vault in the file is unchanged.`,
      )
    rows += read.rows
    options.onTable?.(name, read.rows)
  }
  await restoreSequences(db, client)
  const { command } = await client.query('commit')
  if (command !== 'COMMIT') throw new Error('PostgreSQL rolled back the copy')
  return rows
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
 * one commit. A service may run on the file: it continues to read; its writes are rejected during the copy and after it,
 * so the copy holds everything it acknowledged. A failure before the commit leaves both unchanged. Returns the row count.
 */
export const copyToPostgres = async (options: MigrateOptions): Promise<number> => {
  const { from, to } = options
  const db = connect(from, { readonly: false })
  try {
    rejectUnfit(db)
    await prepare(to, true)
    // Writers wait 5 s, then fail with "busy"; readers are not affected.
    db.exec('begin immediate')
    // Creating triggers does not wait: a failure here comes before any copying.
    addReadOnlyTriggers(db)
    const rows = await withClient(to, (client) => copyAll(db, client, options))
    db.exec('commit')
    return rows
  } catch (thrown) {
    if (db.inTransaction) db.exec('rollback')
    // The original message may quote a row.
    throw thrown instanceof DatabaseError
      ? new AppError('internal', `PostgreSQL rejected the copy (${thrown.code}); the file is unchanged.`)
      : thrown
  } finally {
    db.close()
  }
}
