import type { Migration } from './migration.ts'

/** What a kept answer shows of tokens lies apart, so that it can go with any of them. */
export const answers: Migration = {
  version: 3,
  name: 'answers',
  up: (db, { text, integer, bytes, clustered }) => [
    db.schema.alterTable('idempotent_answers').addColumn('shown', bytes),
    db.schema.alterTable('idempotent_answers').addColumn('shown_until', integer),
    db.schema
      .createIndex('idempotent_answers_shown')
      .on('idempotent_answers')
      .column('shown_until')
      .where('shown_until', 'is not', null),

    db.schema
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
    db.schema.createIndex('answer_tokens_key').on('answer_tokens').columns(['tenant_id', 'key']),
  ],
}
