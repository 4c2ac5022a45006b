import type Database from 'better-sqlite3'

type Db = Database.Database
export type Row = Record<string, unknown>

interface Column {
  readonly name: string
  readonly key: boolean
}

interface Table {
  readonly name: string
  readonly columns: readonly Column[]
}

/** A row to be written, in place of another (`from`) or of none. */
export interface Attack {
  readonly title: string
  readonly table: Table
  readonly from: Row | undefined
  readonly to: Row | undefined
}

const quoted = (name: string): string => `"${name}"`

/** All tables and columns, from the schema: what is added to it is attacked by itself. */
export const tablesOf = (db: Db): readonly Table[] =>
  (
    db
      .prepare(
        "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' order by name",
      )
      .pluck()
      .all() as string[]
  ).map((name) => ({
    name,
    columns: (db.pragma(`table_info(${quoted(name)})`) as { name: string; pk: number }[]).map((column) => ({
      name: column.name,
      key: column.pk > 0,
    })),
  }))

export const rowsOf = (db: Db, { name }: Table): readonly Row[] =>
  db.prepare(`select * from ${quoted(name)}`).all() as Row[]

export const keyOf = ({ columns }: Table, row: Row): string =>
  columns
    .filter(({ key }) => key)
    .map(({ name }) => (Buffer.isBuffer(row[name]) ? row[name].toString('hex') : String(row[name])))
    .join('\0')

const same = (a: unknown, b: unknown): boolean =>
  Buffer.isBuffer(a) && Buffer.isBuffer(b) ? a.equals(b) : a === b

/** Replaces `from` with `to`. False when the engine itself rejects it. */
export const replace = (
  db: Db,
  { name, columns }: Table,
  from: Row | undefined,
  to: Row | undefined,
): boolean =>
  db.transaction(() => {
    const keys = columns.filter(({ key }) => key)
    if (from !== undefined)
      db.prepare(
        `delete from ${quoted(name)} where ${keys.map((key) => `${quoted(key.name)} = ?`).join(' and ')}`,
      ).run(keys.map((key) => from[key.name]))
    if (to !== undefined)
      db.prepare(
        `insert into ${quoted(name)} (${columns.map((column) => quoted(column.name)).join(', ')}) values (${columns.map(() => '?').join(', ')})`,
      ).run(columns.map((column) => to[column.name]))
  })() === undefined

const LATER = 9_000_000_000_000

/** Changes of a text by an attacker: more rights, another place, a later expiry, another text. */
const texts = (text: string): readonly string[] => [
  text
    .replaceAll('redact', 'reveal')
    .replaceAll('honest.example', 'attacker.example')
    .replaceAll('"public"', '"private"')
    .replace('"permissions":[', '"permissions":["token:use",')
    .replace(/"\$sealed":"[^"]*"/, '"destination_url":"https://attacker.example/"')
    .replace(/"expires_at":\d+/, `"expires_at":${LATER}`),
  `${text}x`,
]

const editsOf = (name: string, value: unknown): readonly unknown[] => {
  if (typeof value === 'string') return texts(value)
  if (typeof value === 'number') return [value > 1e9 ? LATER : value + 1]
  if (!Buffer.isBuffer(value)) return [/_(?:at|until)$/.test(name) ? LATER : 'x']
  const flipped = Buffer.from(value)
  if (flipped.length > 0) flipped[flipped.length - 1]! ^= 1
  return [flipped]
}

/** Every column of a row given the value of each of these other rows, and edited, in at most `most` ways. */
export function* edits(table: Table, row: Row, others: readonly Row[], most?: number): Generator<Attack> {
  for (const { name, key } of table.columns) {
    const values = [
      ...others.map((other) => other[name]),
      ...editsOf(name, row[name]),
      ...(key ? [] : [null]),
    ]
    const changes = values.filter(
      (value, at) => !same(value, row[name]) && !values.slice(0, at).some((earlier) => same(earlier, value)),
    )
    for (const [at, value] of changes.slice(0, most).entries())
      yield {
        title: `${table.name}.${name} edited (${at})`,
        table,
        from: row,
        to: { ...row, [name]: value },
      }
  }
  yield { title: `a row of ${table.name} deleted`, table, from: row, to: undefined }
  // The contents of another row under this row's key, and the other way round.
  for (const other of others) {
    const under = Object.fromEntries(
      table.columns.map(({ name, key }) => [name, key ? row[name] : other[name]]),
    )
    yield { title: `a row of ${table.name} swapped`, table, from: row, to: under }
  }
}

/** Every row that is not as it was, or gone: put back alone. */
export function* rollbacks(table: Table, before: readonly Row[], now: readonly Row[]): Generator<Attack> {
  const current = new Map(now.map((row) => [keyOf(table, row), row]))
  for (const row of before) {
    const from = current.get(keyOf(table, row))
    if (from !== undefined && table.columns.every(({ name }) => same(from[name], row[name]))) continue
    yield { title: `a row of ${table.name} put back`, table, from, to: row }
    if (from === undefined) continue
    for (const { name } of table.columns)
      if (!same(from[name], row[name]))
        yield { title: `${table.name}.${name} put back`, table, from, to: { ...from, [name]: row[name] } }
  }
}
