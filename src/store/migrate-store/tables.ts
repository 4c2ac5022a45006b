import type { ClientBase } from 'pg'
import type { Connection } from '../sqlite/connection.ts'

interface Column {
  readonly name: string
  /** PostgreSQL type: text, bigint or bytea. */
  readonly type: string
}

export interface Table {
  readonly name: string
  readonly columns: readonly Column[]
  /** Primary key columns, in order. */
  readonly key: readonly string[]
}

const quoted = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ')

export const selectAll = ({ name, columns, key }: Table): string =>
  `select ${quoted(columns.map((column) => column.name))} from "${name}" order by ${quoted(key)}`

export const insertInto = ({ name, columns }: Table): string =>
  `insert into "${name}" (${quoted(columns.map((column) => column.name))})
    select * from unnest(${columns.map(({ type }, at) => `$${at + 1}::${type}[]`).join(', ')})`

/** Tables written by migrations themselves. */
const BOOKKEEPING = 'schema_migrations'

/** All tables of a vault in the file, parents before tables that refer to them. */
export const tablesOf = async (db: Connection, client: ClientBase): Promise<readonly Table[]> => {
  const names = (
    db
      .prepare(
        "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' order by rowid",
      )
      .pluck()
      .all() as string[]
  ).filter((name) => name !== BOOKKEEPING)
  const { rows } = await client.query<{ table_name: string; column_name: string; data_type: string }>(
    'select table_name, column_name, data_type from information_schema.columns where table_schema = current_schema()',
  )
  return names.map((name) => {
    const info = db.pragma(`table_info("${name}")`) as { name: string; pk: number }[]
    const columns = info.map((column) => {
      const type = rows.find((row) => row.table_name === name && row.column_name === column.name)?.data_type
      if (type === undefined) throw new Error(`PostgreSQL has no column ${name}.${column.name}`)
      return { name: column.name, type }
    })
    const key = info.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk)
    return { name, columns, key: key.map((column) => column.name) }
  })
}
