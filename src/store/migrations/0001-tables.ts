import type { Migration } from './migration.ts'

/** Every table of the first version. Longer than a file should be by being one step. */
export const tables: Migration = {
  version: 1,
  name: 'tables',
  up: ({ schema }, { text, integer, bytes, sequence, table, clustered }) => [
    schema
      .createTable('tenants')
      .addColumn('id', text, (c) => c.primaryKey().notNull())
      .addColumn('owner_id', text, (c) => c.notNull())
      .addColumn('name', text, (c) => c.notNull())
      .addColumn('settings', text, (c) => c.notNull())
      .addColumn('created_by', text)
      .addColumn('created_at', integer, (c) => c.notNull())
      .addColumn('modified_by', text)
      .addColumn('modified_at', integer)
      .modifyEnd(clustered),

    schema
      .createTable('tenant_keys')
      .addColumn('tenant_id', text, (c) => c.notNull())
      .addColumn('purpose', text, (c) => c.notNull())
      .addColumn('version', integer, (c) => c.notNull())
      .addColumn('wrapped', bytes, (c) => c.notNull())
      .addColumn('created_at', integer, (c) => c.notNull())
      .addPrimaryKeyConstraint('tenant_keys_pk', ['tenant_id', 'purpose', 'version'])
      .modifyEnd(clustered),

    schema
      .createTable('tokens')
      .addColumn('seq', sequence)
      .addColumn('tenant_id', text, (c) => c.notNull())
      .addColumn('id', text, (c) => c.notNull())
      .addColumn('type', text, (c) => c.notNull())
      .addColumn('container', text, (c) => c.notNull())
      .addColumn('sealed', bytes, (c) => c.notNull())
      .addColumn('ephemeral', bytes)
      .addColumn('ephemeral_until', integer)
      .addColumn('version', integer, (c) => c.notNull())
      .addColumn('metadata', text)
      .addColumn('fingerprint', text)
      .addColumn('expires_at', integer)
      .addColumn('created_by', text, (c) => c.notNull())
      .addColumn('created_at', integer, (c) => c.notNull())
      .addColumn('modified_by', text)
      .addColumn('modified_at', integer)
      .addUniqueConstraint('tokens_id', ['tenant_id', 'id'])
      .modifyEnd(table),
    schema.createIndex('tokens_newest').on('tokens').columns(['tenant_id', 'seq']),
    // One stream of newest first for each (container, type); lists merge the streams of the groups that they show.
    schema.createIndex('tokens_groups').on('tokens').columns(['tenant_id', 'container', 'type', 'seq']),
    schema
      .createIndex('tokens_fingerprint')
      .on('tokens')
      .columns(['tenant_id', 'fingerprint', 'container'])
      .where('fingerprint', 'is not', null),
    schema
      .createIndex('tokens_expiry')
      .on('tokens')
      .columns(['expires_at', 'tenant_id', 'container', 'type'])
      .where('expires_at', 'is not', null),
    schema
      .createIndex('tokens_ephemeral')
      .on('tokens')
      .column('ephemeral_until')
      .where('ephemeral_until', 'is not', null),

    schema
      .createTable('token_terms')
      .addColumn('tenant_id', text, (c) => c.notNull())
      .addColumn('term', bytes, (c) => c.notNull())
      .addColumn('seq', integer, (c) => c.notNull().references('tokens.seq').onDelete('cascade'))
      .addPrimaryKeyConstraint('token_terms_pk', ['tenant_id', 'term', 'seq'])
      .modifyEnd(clustered),
    schema.createIndex('token_terms_seq').on('token_terms').column('seq'),

    schema
      .createTable('token_metadata')
      .addColumn('tenant_id', text, (c) => c.notNull())
      .addColumn('key', text, (c) => c.notNull())
      .addColumn('value', text, (c) => c.notNull())
      .addColumn('seq', integer, (c) => c.notNull().references('tokens.seq').onDelete('cascade'))
      .addPrimaryKeyConstraint('token_metadata_pk', ['tenant_id', 'key', 'value', 'seq'])
      .modifyEnd(clustered),
    schema.createIndex('token_metadata_seq').on('token_metadata').column('seq'),

    schema
      .createTable('token_counts')
      .addColumn('tenant_id', text, (c) => c.notNull())
      .addColumn('container', text, (c) => c.notNull())
      .addColumn('type', text, (c) => c.notNull())
      .addColumn('count', integer, (c) => c.notNull())
      .addColumn('last_created_at', integer, (c) => c.notNull())
      .addPrimaryKeyConstraint('token_counts_pk', ['tenant_id', 'container', 'type'])
      .modifyEnd(clustered),

    schema
      .createTable('records')
      .addColumn('seq', sequence)
      .addColumn('collection', text, (c) => c.notNull())
      .addColumn('tenant_id', text, (c) => c.notNull())
      .addColumn('id', text, (c) => c.notNull())
      .addColumn('version', integer, (c) => c.notNull())
      .addColumn('name', text)
      .addColumn('body', text, (c) => c.notNull())
      .addColumn('created_at', integer, (c) => c.notNull())
      .addUniqueConstraint('records_id', ['collection', 'tenant_id', 'id'])
      .modifyEnd(table),
    schema.createIndex('records_newest').on('records').columns(['collection', 'tenant_id', 'seq']),

    schema
      .createTable('record_indexes')
      .addColumn('collection', text, (c) => c.notNull())
      .addColumn('tenant_id', text, (c) => c.notNull())
      .addColumn('member', text, (c) => c.notNull())
      .addColumn('value', text, (c) => c.notNull())
      .addColumn('seq', integer, (c) => c.notNull().references('records.seq').onDelete('cascade'))
      .addPrimaryKeyConstraint('record_indexes_pk', ['collection', 'tenant_id', 'member', 'value', 'seq'])
      .modifyEnd(clustered),
    schema.createIndex('record_indexes_seq').on('record_indexes').column('seq'),

    schema
      .createTable('record_lookups')
      .addColumn('collection', text, (c) => c.notNull())
      .addColumn('member', text, (c) => c.notNull())
      .addColumn('value', text, (c) => c.notNull())
      .addColumn('seq', integer, (c) => c.notNull().references('records.seq').onDelete('cascade'))
      .addPrimaryKeyConstraint('record_lookups_pk', ['collection', 'member', 'value'])
      .modifyEnd(clustered),
    schema.createIndex('record_lookups_seq').on('record_lookups').column('seq'),

    schema
      .createTable('changes')
      .addColumn('kind', text, (c) => c.primaryKey().notNull())
      .addColumn('version', integer, (c) => c.notNull())
      .modifyEnd(clustered),

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
      .addUniqueConstraint('logs_journal', ['journal', 'journal_seq'])
      .modifyEnd(table),
    schema.createIndex('logs_newest').on('logs').columns(['tenant_id', 'seq']),
    schema.createIndex('logs_entity').on('logs').columns(['tenant_id', 'entity_id', 'seq']),
    schema.createIndex('logs_time').on('logs').columns(['tenant_id', 'created_at']),

    schema
      .createTable('journal_positions')
      .addColumn('journal', text, (c) => c.primaryKey().notNull())
      .addColumn('seq', integer, (c) => c.notNull())
      .addColumn('hash', text, (c) => c.notNull())
      .modifyEnd(clustered),
  ],
}
