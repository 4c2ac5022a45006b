import { Client, type ClientBase, DatabaseError } from 'pg'
import { systemClock } from '../../common/clock.ts'
import { AppError } from '../../common/errors.ts'
import { SCHEMA_VERSION } from '../migrations/index.ts'
import { fromPostgres, unknownOutcome } from '../postgres/errors.ts'
import {
  applySteps,
  beginSchema,
  enableRowSecurity,
  rejectBypassRls,
  schemaVersion,
} from '../postgres/migrate.ts'
import { explain } from '../postgres/open.ts'
import { clientConfig, sessionSettings, UNLIMITED } from '../postgres/pool.ts'
import { transactionSession } from '../postgres/session.ts'
import { beginConnection } from '../postgres/standby-check.ts'
import { enterScope, SERVICE } from '../postgres/tenant-scope.ts'
import type { Store } from '../store.ts'
import { createStore } from '../store.ts'
import { readOnlyWriter } from '../writer.ts'
import { corruptSnapshot } from './corrupt.ts'
import { withoutTokenBound } from './token-bound.ts'
import type { Cell, Snapshot, SnapshotTable, SnapshotTarget } from './types.ts'

/** Rows of a batch; one row may have a megabyte. */
const BATCH = 200

type Kind = SnapshotTable['columns'][number]['kind']

const KINDS: Readonly<Record<string, Kind>> = { text: 'text', bigint: 'integer', bytea: 'bytes' }
const TYPES: Readonly<Record<Kind, string>> = { text: 'text', integer: 'bigint', bytes: 'bytea' }

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

const connected = async (address: string): Promise<Client> => {
  const client = new Client(clientConfig(address, UNLIMITED))
  client.on('error', () => {})
  try {
    await client.connect()
    await beginConnection(client, sessionSettings(UNLIMITED))
    await rejectBypassRls(client)
    return client
  } catch (thrown) {
    await client.end().catch(() => {})
    throw explain(thrown)
  }
}

const tablesOf = async (client: ClientBase): Promise<readonly SnapshotTable[]> => {
  const { rows } = await client.query<{ table_name: string; column_name: string; data_type: string }>(
    `select table_name, column_name, data_type from information_schema.columns
      where table_schema = current_schema() and table_name <> 'schema_migrations' order by table_name, ordinal_position`,
  )
  return [...Map.groupBy(rows, ({ table_name }) => table_name)].map(([name, columns]) => ({
    name,
    columns: columns.map(({ column_name, data_type }) => ({ name: column_name, kind: KINDS[data_type]! })),
  }))
}

/** Sequences by table. */
const sequencesOf = async (client: ClientBase): Promise<ReadonlyMap<string, string>> => {
  const { rows } = await client.query<{ table_name: string; sequence: string }>(
    `select table_name, pg_get_serial_sequence(quote_ident(table_name), column_name) as sequence
      from information_schema.columns where table_schema = current_schema() and is_identity = 'YES'`,
  )
  return new Map(rows.map(({ table_name, sequence }) => [table_name, sequence]))
}

const listOf = (columns: SnapshotTable['columns']): string =>
  columns.map(({ name }) => quoted(name)).join(', ')

/** Rows of a table in batches, within a transaction. `where`: SQL clause that selects them. */
async function* rowsOf(
  client: ClientBase,
  { name, columns }: SnapshotTable,
  where = '',
): AsyncGenerator<readonly (readonly Cell[])[]> {
  await client.query(
    `declare copied no scroll cursor for select ${listOf(columns)} from ${quoted(name)}${where}`,
  )
  for (;;) {
    const { rows } = await client.query<Record<string, Cell>>(`fetch ${BATCH} from copied`)
    if (rows.length === 0) break
    yield rows.map((row) => columns.map((column) => row[column.name] as Cell))
  }
  await client.query('close copied')
}

/** Consistent snapshot of the database in a read-only transaction, which blocks no other one. */
export const postgresSnapshot = async (address: string): Promise<Snapshot> => {
  const client = await connected(address)
  try {
    await client.query('begin isolation level repeatable read read only')
    await enterScope(client, SERVICE)
    const sequences: [string, number][] = []
    for (const [table, sequence] of await sequencesOf(client)) {
      // The server has quoted the name.
      const { rows } = await client.query(
        `select case when is_called then last_value else 0 end as last from ${sequence}`,
      )
      sequences.push([table, rows[0].last])
    }
    const tables = await tablesOf(client)
    return {
      schema: await schemaVersion(client),
      tables,
      sequences: Object.fromEntries(sequences),
      rows: (table) => rowsOf(client, table, withoutTokenBound(table.name)),
      close: () => client.end(),
    }
  } catch (thrown) {
    await client.end().catch(() => {})
    throw explain(thrown)
  }
}

const notEmpty = () =>
  new AppError('invalid', 'The target database is not empty. Name an empty one. Nothing was changed.')

/** Creates the tables of this schema version; a database that has them already must be empty, and stays locked. */
const prepareEmpty = async (client: ClientBase, now: number, schema: number): Promise<void> => {
  const current = await schemaVersion(client)
  if (current === 0) {
    const { rows } = await client.query(
      'select 1 from pg_catalog.pg_tables where schemaname = current_schema() limit 1',
    )
    if (rows.length > 0) throw notEmpty()
    await applySteps(client, now, 0, schema)
    return
  }
  if (current !== schema) throw notEmpty()
  const names = (await tablesOf(client)).map(({ name }) => quoted(name))
  await client.query(`lock table ${names.join(', ')} in access exclusive mode`)
  for (const name of names)
    if ((await client.query(`select 1 from ${name} limit 1`)).rows.length > 0) throw notEmpty()
}

/** Drops foreign keys, because tables are copied in any order; returns statements that add and check them again. */
const dropForeignKeys = async (client: ClientBase): Promise<readonly string[]> => {
  const { rows } = await client.query<{ owner: string; name: string; definition: string }>(
    `select conrelid::regclass::text as owner, quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
      from pg_catalog.pg_constraint where contype = 'f' and connamespace = current_schema()::regnamespace`,
  )
  for (const { owner, name } of rows) await client.query(`alter table ${owner} drop constraint ${name}`)
  return rows.map(
    ({ owner, name, definition }) => `alter table ${owner} add constraint ${name} ${definition}`,
  )
}

/** Class 22: invalid value; 23: constraint violation. Other errors are not caused by the copy. */
const copyIssue = (thrown: unknown, what: string): unknown =>
  thrown instanceof DatabaseError && /^2[23]/.test(thrown.code ?? '')
    ? corruptSnapshot(what)
    : fromPostgres(thrown)

/** A copy into an empty database, readable as a store before it is visible to others. */
export interface PostgresTarget extends SnapshotTarget {
  /** Rows as they were written, in batches. */
  rows(table: SnapshotTable): AsyncIterable<readonly (readonly Cell[])[]>
  readonly store: Store
  /** `gateway_timeout` when the outcome of the commit is unknown. */
  commit(): Promise<void>
}

/**
 * Copies into a database without tables, or with empty ones of this schema version, in one transaction: until `commit`,
 * and when this process exits, the database stays empty.
 */
export const postgresTarget = async (address: string, schema: number): Promise<PostgresTarget> => {
  const client = await connected(address)
  const abort = () => client.end().catch(() => {})
  try {
    const now = systemClock.now()
    await beginSchema(client)
    await prepareEmpty(client, now, schema)
    const foreignKeys = await dropForeignKeys(client)
    const known = new Map((await tablesOf(client)).map((table) => [table.name, table.columns]))

    const statements = new Map<SnapshotTable, string>()
    const statementOf = (table: SnapshotTable): string => {
      const ready = statements.get(table)
      if (ready !== undefined) return ready
      for (const { name, kind } of table.columns)
        if (!known.get(table.name)?.some((column) => column.name === name && column.kind === kind))
          throw corruptSnapshot(`column "${name}" of "${table.name}" is not in schema version ${schema}`)
      const lists = table.columns.map(({ kind }, at) => `$${at + 1}::${TYPES[kind]}[]`).join(', ')
      const text = `insert into ${quoted(table.name)} (${listOf(table.columns)}) select * from unnest(${lists})`
      statements.set(table, text)
      return text
    }

    return {
      insert: async (table, rows) => {
        const values = table.columns.map((_, at) => rows.map((row) => row[at]))
        const text = statementOf(table)
        await client.query({ name: `copy ${table.name}`, text, values }).catch((thrown) => {
          throw copyIssue(thrown, `a row of "${table.name}" does not fit`)
        })
      },
      rows: (table) => rowsOf(client, table),
      finish: async (sequences) => {
        try {
          for (const foreignKey of foreignKeys)
            await client.query(foreignKey).catch((thrown) => {
              throw copyIssue(thrown, 'rows refer to rows that are missing')
            })
          for (const [table, sequence] of await sequencesOf(client))
            if ((sequences[table] ?? 0) > 0)
              await client.query('select setval($1, $2)', [sequence, sequences[table]])
          const counts: [string, number][] = []
          for (const name of known.keys())
            counts.push([
              name,
              (await client.query(`select count(*) as rows from ${quoted(name)}`)).rows[0].rows,
            ])
          await applySteps(client, now, schema, SCHEMA_VERSION)
          await enableRowSecurity(client)
          return Object.fromEntries(counts)
        } catch (thrown) {
          throw fromPostgres(thrown)
        }
      },
      store: createStore(
        { session: transactionSession(client, 'service'), writer: readOnlyWriter },
        { writable: false, close: async () => {} },
      ),
      commit: async () => {
        const { command } = await client.query('commit').catch((thrown) => {
          throw thrown instanceof DatabaseError ? fromPostgres(thrown) : unknownOutcome(thrown)
        })
        await client.end().catch(() => {})
        if (command !== 'COMMIT') throw new AppError('internal', 'PostgreSQL rolled back the copy.')
      },
      abort,
    }
  } catch (thrown) {
    await abort()
    throw thrown instanceof AppError ? thrown : fromPostgres(thrown)
  }
}
