import { sql } from 'kysely'
import type { Statements } from '../migration.ts'

/** What a kept response shows of tokens lies apart, so that it can go with any of them. */
export const idempotency: Statements = ({ schema }, { text, integer, bytes, clustered }) => [
  schema
    .createTable('idempotent_answers')
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
    .addPrimaryKeyConstraint('idempotent_answers_pk', ['tenant_id', 'key'])
    .modifyEnd(clustered),
  schema.createIndex('idempotent_answers_expiry').on('idempotent_answers').column('expires_at'),
  schema
    .createIndex('idempotent_answers_shown')
    .on('idempotent_answers')
    .column('shown_until')
    .where('shown_until', 'is not', null),
  schema
    .createIndex('idempotent_answers_process')
    .on('idempotent_answers')
    .column('process')
    .where(sql.ref('sealed'), 'is', null),
  schema
    .createTable('answer_tokens')
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addColumn('token_id', text, (c) => c.notNull())
    .addColumn('key', bytes, (c) => c.notNull())
    .addPrimaryKeyConstraint('answer_tokens_pk', ['tenant_id', 'token_id', 'key'])
    .addForeignKeyConstraint(
      'answer_tokens_answer',
      ['tenant_id', 'key'],
      'idempotent_answers',
      ['tenant_id', 'key'],
      (constraint) => constraint.onDelete('cascade'),
    )
    .modifyEnd(clustered),
  schema.createIndex('answer_tokens_key').on('answer_tokens').columns(['tenant_id', 'key']),
]
