import { Client, type ClientBase, DatabaseError } from 'pg'
import { systemClock } from '../../common/clock.ts'
import { AppError } from '../../common/errors.ts'
import { insertInto } from '../migrate-store/tables.ts'
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
      async *rows({ name, columns }) {
        const list = columns.map((column) => quoted(column.name)).join(', ')
        await client.query(
          `declare copied no scroll cursor for select ${list} from ${quoted(name)}${withoutTokenBound(name)}`,
        )
        for (;;) {
          const { rows } = await client.query<Record<string, Cell>>(`fetch ${BATCH} from copied`)
          if (rows.length === 0) break
          yield rows.map((row) => columns.map((column) => row[column.name] as Cell))
        }
        await client.query('close copied')
      },
      close: () => client.end(),
    }
  } catch (thrown) {
    await client.end().catch(() => {})
    throw explain(thrown)
  }
}

const rejectTables = async (client: ClientBase): Promise<void> => {
  const { rows } = await client.query(
    'select 1 from pg_catalog.pg_tables where schemaname = current_schema() limit 1',
  )
  if (rows.length > 0)
    throw new AppError(
      'invalid',
      'The database of SIDEVAULT_STORE is not empty. Name an empty one. Nothing was changed.',
    )
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
  readonly store: Store
  /** `gateway_timeout` when the outcome of the commit is unknown. */
  commit(): Promise<void>
}

/** Copies in one transaction: until `commit`, and when this process exits, the database stays empty. */
export const postgresTarget = async (address: string, schema: number): Promise<PostgresTarget> => {
  const client = await connected(address)
  const abort = () => client.end().catch(() => {})
  try {
    const now = systemClock.now()
    await beginSchema(client)
    await rejectTables(client)
    await applySteps(client, now, 0, schema)
    const foreignKeys = await dropForeignKeys(client)
    const known = new Map((await tablesOf(client)).map((table) => [table.name, table.columns]))

    const statements = new Map<SnapshotTable, string>()
    const statementOf = (table: SnapshotTable): string => {
      const ready = statements.get(table)
      if (ready !== undefined) return ready
      for (const { name, kind } of table.columns)
        if (!known.get(table.name)?.some((column) => column.name === name && column.kind === kind))
          throw corruptSnapshot(`column "${name}" of "${table.name}" is not in schema version ${schema}`)
      const columns = table.columns.map(({ name, kind }) => ({ name, type: TYPES[kind] }))
      const text = insertInto({ name: table.name, columns, key: [] })
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
