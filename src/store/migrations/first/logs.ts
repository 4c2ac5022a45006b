import type { Statements } from '../migration.ts'

/** Log rows hold everything that their hash covers: the chain can be verified from the rows alone. */
export const logs: Statements = ({ schema }, { text, integer, sequence, table, clustered }) => [
  schema
    .createTable('logs')
    .addColumn('seq', sequence)
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('entity_type', text, (c) => c.notNull())
    .addColumn('entity_id', text, (c) => c.notNull())
    .addColumn('operation', text, (c) => c.notNull())
    .addColumn('actor_id', text)
    .addColumn('actor_type', text)
    .addColumn('message', text, (c) => c.notNull())
    .addColumn('trace_id', text, (c) => c.notNull())
    .addColumn('created_at', integer, (c) => c.notNull())
    .addColumn('journal', text, (c) => c.notNull())
    .addColumn('journal_seq', integer, (c) => c.notNull())
    .addColumn('hash', text, (c) => c.notNull())
    .addColumn('token_seq', integer)
    .addColumn('surfaces', text)
    .addUniqueConstraint('logs_journal', ['journal', 'journal_seq'])
    .modifyEnd(table),
  // Counting and skipping list entries reads the index only.
  schema.createIndex('logs_newest').on('logs').columns(['tenant_id', 'created_at', 'seq']),
  schema.createIndex('logs_type').on('logs').columns(['tenant_id', 'entity_type', 'created_at', 'seq']),
  schema
    .createIndex('logs_entity')
    .on('logs')
    .columns(['tenant_id', 'entity_id', 'created_at', 'seq', 'entity_type']),
  schema
    .createTable('journal_positions')
    .addColumn('journal', text, (c) => c.primaryKey().notNull())
    .addColumn('seq', integer, (c) => c.notNull())
    .addColumn('hash', text, (c) => c.notNull())
    .modifyEnd(clustered),

  schema
    .createTable('active_tokens')
    .addColumn('month', integer, (c) => c.notNull())
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('seq', integer, (c) => c.notNull())
    .addPrimaryKeyConstraint('active_tokens_pk', ['month', 'tenant_id', 'seq'])
    .modifyEnd(clustered),
  schema
    .createTable('active_counts')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('month', integer, (c) => c.notNull())
    .addColumn('count', integer, (c) => c.notNull())
    .addPrimaryKeyConstraint('active_counts_pk', ['tenant_id', 'month'])
    .modifyEnd(clustered),
]
