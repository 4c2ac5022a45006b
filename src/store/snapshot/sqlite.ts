import { rm } from 'node:fs/promises'
import { codeOf } from '../../common/errors.ts'
import { makePrivateFile } from '../../common/file-lock.ts'
import { type Connection, connect } from '../sqlite/connection.ts'
import { migrate, schemaVersion } from '../sqlite/migrate.ts'
import { corruptSnapshot } from './corrupt.ts'
import { withoutTokenBound } from './token-bound.ts'
import type { Cell, Snapshot, SnapshotContent, SnapshotTable, SnapshotTarget } from './types.ts'

/** Rows of a batch, and an estimate of their bytes. */
const BATCH = 500
const BATCH_BYTES = 8 * 1024 * 1024

const KINDS: Readonly<Record<string, SnapshotTable['columns'][number]['kind']>> = {
  TEXT: 'text',
  INTEGER: 'integer',
  BLOB: 'bytes',
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

const listOf = (names: readonly { readonly name: string }[]): string =>
  names.map(({ name }) => quoted(name)).join(', ')

const tablesOf = (db: Connection): readonly SnapshotTable[] => {
  const names = db
    .prepare(
      "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' and name <> 'schema_migrations' order by name",
    )
    .pluck()
    .all() as string[]
  return names.map((name) => ({
    name,
    columns: (db.pragma(`table_info(${quoted(name)})`) as { name: string; type: string }[]).map((column) => ({
      name: column.name,
      kind: KINDS[column.type.toUpperCase()]!,
    })),
  }))
}

const sizeOf = (row: readonly Cell[]): number =>
  row.reduce<number>(
    (sum, cell) => sum + (typeof cell === 'string' || cell instanceof Uint8Array ? cell.length : 8),
    0,
  )

/** Content of the file, within a transaction of this connection. `where`: SQL clause that selects rows of a table. */
export const sqliteContent = (
  db: Connection,
  where: (table: string) => string = () => '',
): SnapshotContent => {
  const sequences = db.prepare('select name, seq from sqlite_sequence').all() as {
    name: string
    seq: number
  }[]
  return {
    schema: schemaVersion(db),
    tables: tablesOf(db),
    sequences: Object.fromEntries(sequences.map(({ name, seq }) => [name, seq])),
    async *rows({ name, columns }) {
      let batch: Cell[][] = []
      let bytes = 0
      const rows = db
        .prepare(`select ${listOf(columns)} from ${quoted(name)}${where(name)}`)
        .raw()
        .iterate()
      for (const row of rows as IterableIterator<Cell[]>) {
        batch.push(row)
        bytes += sizeOf(row)
        if (batch.length < BATCH && bytes < BATCH_BYTES) continue
        yield batch
        batch = []
        bytes = 0
      }
      if (batch.length > 0) yield batch
    },
  }
}

/** Consistent snapshot of the file until it is closed. The write-ahead log grows during that time. */
export const sqliteSnapshot = (path: string): Snapshot => {
  const db = connect(path, { readonly: true })
  db.exec('begin')
  return {
    ...sqliteContent(db, withoutTokenBound),
    close: async () => {
      db.close()
    },
  }
}

/** Creates a database file with this schema version; `abort` removes it. */
export const sqliteTarget = (path: string, schema: number, now: number): SnapshotTarget => {
  makePrivateFile(path)
  const db = connect(path, { readonly: false })
  // Tables are copied in any order: foreign keys are checked at the end. No process reads the file before.
  db.pragma('foreign_keys = OFF')
  db.pragma('synchronous = OFF')
  db.pragma('journal_mode = OFF')
  migrate(db, now, schema)
  const known = new Map(tablesOf(db).map((table) => [table.name, table]))
  const statements = new Map<SnapshotTable, ReturnType<Connection['prepare']>>()
  db.exec('begin')

  const statementOf = (table: SnapshotTable) => {
    const ready = statements.get(table)
    if (ready !== undefined) return ready
    const columns = known.get(table.name)?.columns ?? []
    for (const { name, kind } of table.columns)
      if (!columns.some((column) => column.name === name && column.kind === kind))
        throw corruptSnapshot(`column "${name}" of "${table.name}" is not in schema version ${schema}`)
    const places = table.columns.map(() => '?').join(', ')
    const fresh = db.prepare(
      `insert into ${quoted(table.name)} (${listOf(table.columns)}) values (${places})`,
    )
    statements.set(table, fresh)
    return fresh
  }

  return {
    insert: async (table, rows) => {
      const statement = statementOf(table)
      try {
        for (const row of rows) statement.run(...row)
      } catch (thrown) {
        if (/^SQLITE_(FULL|IOERR)/.test(codeOf(thrown))) throw thrown
        throw corruptSnapshot(`a row of "${table.name}" does not fit`)
      }
    },
    finish: async (sequences) => {
      const set = db.prepare('update sqlite_sequence set seq = ? where name = ?')
      const add = db.prepare('insert into sqlite_sequence (name, seq) values (?, ?)')
      for (const [name, seq] of Object.entries(sequences))
        if (known.has(name) && set.run(seq, name).changes === 0) add.run(name, seq)
      db.exec('commit')
      if ((db.pragma('foreign_key_check') as unknown[]).length > 0)
        throw corruptSnapshot('rows refer to rows that are missing')
      if (db.pragma('integrity_check', { simple: true }) !== 'ok')
        throw corruptSnapshot('the integrity check failed')
      const counts = [...known.keys()].map((name) => [
        name,
        db
          .prepare(`select count(*) from ${quoted(name)}`)
          .pluck()
          .get() as number,
      ])
      db.close()
      return Object.fromEntries(counts)
    },
    abort: async () => {
      db.close()
      for (const end of ['', '-wal', '-shm', '-journal']) await rm(path + end, { force: true })
    },
  }
}
