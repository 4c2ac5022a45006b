import { sql } from 'kysely'
import type { Statements } from '../migration.ts'

/** Token data of a stored response is separate, so that it can be removed with any of its tokens. */
export const idempotency: Statements = ({ schema }, { text, integer, bytes, table, clustered }) => [
  schema
    .createTable('idempotency_keys')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('key', bytes, (c) => c.notNull())
    .addColumn('operation', text, (c) => c.notNull())
    .addColumn('holder', text, (c) => c.notNull())
    .addColumn('sealed', bytes)
    .addColumn('expires_at', integer, (c) => c.notNull())
    .addColumn('shown', bytes)
    .addColumn('shown_until', integer)
    .addColumn('running_until', integer, (c) => c.notNull())
    .addColumn('process', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('idempotency_keys_pk', ['tenant_id', 'key'])
    // Not clustered: a search in a clustered table of SQLite reads all of each large row that it passes.
    .modifyEnd(table),
  schema.createIndex('idempotency_keys_expiry').on('idempotency_keys').column('expires_at'),
  schema
    .createIndex('idempotency_keys_shown')
    .on('idempotency_keys')
    .column('shown_until')
    .where('shown_until', 'is not', null),
  schema
    .createIndex('idempotency_keys_process')
    .on('idempotency_keys')
    .column('process')
    .where(sql.ref('sealed'), 'is', null),
  schema
    .createTable('idempotency_key_tokens')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('token_id', text, (c) => c.notNull())
    .addColumn('key', bytes, (c) => c.notNull())
    .addPrimaryKeyConstraint('idempotency_key_tokens_pk', ['tenant_id', 'token_id', 'key'])
    .addForeignKeyConstraint(
      'idempotency_key_tokens_record',
      ['tenant_id', 'key'],
      'idempotency_keys',
      ['tenant_id', 'key'],
      (constraint) => constraint.onDelete('cascade'),
    )
    .modifyEnd(clustered),
  schema.createIndex('idempotency_key_tokens_key').on('idempotency_key_tokens').columns(['tenant_id', 'key']),
]
