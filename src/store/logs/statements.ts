import type { Schema } from '../schema.ts'
import { openStatement, statement } from '../statement.ts'
import type { LogRow } from '../types.ts'

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
] as const satisfies readonly (keyof LogRow)[]

/** Passes over a record that is present. */
export const insertLog = statement<LogRow>(({ builder }, slot) =>
  builder
    .insertInto('logs')
    .values({
      tenant_id: slot('tenant_id'),
      entity_type: slot('entity_type'),
      entity_id: slot('entity_id'),
      operation: slot('operation'),
      actor_id: slot('actor_id'),
      actor_type: slot('actor_type'),
      message: slot('message'),
      trace_id: slot('trace_id'),
      created_at: slot('created_at'),
      journal: slot('journal'),
      journal_seq: slot('journal_seq'),
      hash: slot('hash'),
    })
    .onConflict((conflict) => conflict.columns(['journal', 'journal_seq']).doNothing()),
)

/** Only forward. */
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

export const journalNames = openStatement<object, { journal: string }>(({ builder }) =>
  builder.selectFrom('journal_positions').select('journal'),
)

export const logsOfTenant = statement<{ tenant_id: string }, LogRow>(({ builder }, slot) =>
  builder.selectFrom('logs').where('tenant_id', '=', slot('tenant_id')).orderBy('seq').select(LOG_COLUMNS),
)

export const logsOfEntity = statement<{ tenant_id: string; entity_id: string }, LogRow>(({ builder }, slot) =>
  builder
    .selectFrom('logs')
    .where('tenant_id', '=', slot('tenant_id'))
    .where('entity_id', '=', slot('entity_id'))
    .orderBy('seq')
    .select(LOG_COLUMNS),
)
