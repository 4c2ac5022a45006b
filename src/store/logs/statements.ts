import { sql } from 'kysely'
import type { Schema } from '../schema.ts'
import { openStatement, serviceStatement, statement } from '../statement.ts'
import type { LogListRow, LogRow } from './types.ts'

const LOG_COLUMNS = [
  'tenant_id',
  'entity_type',
  'entity_id',
  'operation',
  'actor_id',
  'actor_type',
  'message',
  'trace_id',
  'created_at',
  'journal',
  'journal_seq',
  'hash',
  'token_seq',
  'surfaces',
  'disclosure',
  'labels',
] as const satisfies readonly (keyof LogRow)[]

/** Columns of a row as lists return it. */
export const LIST_COLUMNS = [
  'seq',
  'tenant_id',
  'entity_type',
  'entity_id',
  'operation',
  'actor_id',
  'actor_type',
  'message',
  'trace_id',
  'created_at',
  'surfaces',
  'disclosure',
  'labels',
] as const satisfies readonly (keyof LogListRow)[]

/** A row without its sequence number. */
export type StoredLog = Omit<Schema['logs'], 'seq'>

export const insertLog = statement<StoredLog>(({ builder, valuesOf: rows }, slot) =>
  builder
    .insertInto('logs')
    .columns(LOG_COLUMNS)
    .expression(
      rows(slot, {
        tenant_id: 'text',
        entity_type: 'text',
        entity_id: 'text',
        operation: 'text',
        actor_id: 'text',
        actor_type: 'text',
        message: 'text',
        trace_id: 'text',
        created_at: 'bigint',
        journal: 'text',
        journal_seq: 'bigint',
        hash: 'text',
        token_seq: 'bigint',
        surfaces: 'text',
        disclosure: 'text',
        labels: 'text',
      }),
    ),
)

/** Sequence numbers of a journal that are present in a range. */
export const presentLogs = serviceStatement<
  { journal: string; first: number; last: number },
  Pick<LogRow, 'journal_seq' | 'hash'>
>(({ builder }, slot) =>
  builder
    .selectFrom('logs')
    .where('journal', '=', slot('journal'))
    .where('journal_seq', '>=', slot('first'))
    .where('journal_seq', '<=', slot('last'))
    .select(['journal_seq', 'hash']),
)

/** Moves forward only. */
export const movePosition = openStatement<Schema['journal_positions']>(({ builder }, slot) =>
  builder
    .insertInto('journal_positions')
    .values({ journal: slot('journal'), seq: slot('seq'), hash: slot('hash') })
    .onConflict((conflict) =>
      conflict
        .column('journal')
        .doUpdateSet((eb) => ({ seq: eb.ref('excluded.seq'), hash: eb.ref('excluded.hash') }))
        .whereRef('excluded.seq', '>', 'journal_positions.seq'),
    ),
)

export const positionOf = openStatement<{ journal: string }, { seq: number; hash: string }>(
  ({ builder }, slot) =>
    builder.selectFrom('journal_positions').where('journal', '=', slot('journal')).select(['seq', 'hash']),
)

export const rowsOfJournal = serviceStatement<{ journal: string; after: number; limit: number }, StoredLog>(
  ({ builder }, slot) =>
    builder
      .selectFrom('logs')
      .where('journal', '=', slot('journal'))
      .where('journal_seq', '>', slot('after'))
      .orderBy('journal_seq')
      .limit(slot('limit'))
      .select(LOG_COLUMNS),
)

/**
 * Logs of one transaction are numbered under the lock of the ingest, which is released after its commit: no row with a
 * smaller number appears later.
 */
export const logsAfter = serviceStatement<{ seq: number }, LogListRow>(({ builder }, slot) =>
  builder
    .selectFrom('logs')
    .where('seq', '>', slot('seq'))
    .orderBy('seq')
    .limit(sql.lit(500))
    .select(LIST_COLUMNS),
)

export const firstAfter = serviceStatement<{ seq: number }, { created_at: number }>(({ builder }, slot) =>
  builder
    .selectFrom('logs')
    .where('seq', '>', slot('seq'))
    .orderBy('seq')
    .limit(sql.lit(1))
    .select('created_at'),
)

/** The next name: one index lookup for each, where `distinct` would scan all rows. */
export const nextRowJournal = serviceStatement<{ after: string }, { journal: string | null }>(
  ({ builder }, slot) =>
    builder
      .selectFrom('logs')
      .where('journal', '>', slot('after'))
      .select(({ fn }) => fn.min('journal').as('journal')),
)

export const journalNames = openStatement<object, { journal: string }>(({ builder }) =>
  builder.selectFrom('journal_positions').select('journal'),
)

export const logsOfTenant = statement<{ tenant_id: string }, StoredLog>(({ builder }, slot) =>
  builder.selectFrom('logs').where('tenant_id', '=', slot('tenant_id')).orderBy('seq').select(LOG_COLUMNS),
)
