import type { Statements } from '../migration.ts'

export const tokens: Statements = ({ schema }, { text, integer, bytes, sequence, table, clustered }) => [
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
    .addColumn('egress', text)
    .addColumn('masked', integer)
    .addColumn('expires_at', integer)
    .addColumn('created_by', text, (c) => c.notNull())
    .addColumn('created_at', integer, (c) => c.notNull())
    .addColumn('modified_by', text)
    .addColumn('modified_at', integer)
    .addUniqueConstraint('tokens_id', ['tenant_id', 'id'])
    .modifyEnd(table),
  schema.createIndex('tokens_newest').on('tokens').columns(['tenant_id', 'seq']),
  // One stream, newest first, for each (container, type); lists merge the streams of their groups.
  schema.createIndex('tokens_groups').on('tokens').columns(['tenant_id', 'container', 'type', 'seq']),
  schema
    .createIndex('tokens_fingerprint')
    .on('tokens')
    // The oldest token of a fingerprint is its first entry; PostgreSQL orders equal entries by row position.
    .columns(['tenant_id', 'fingerprint', 'container', 'seq'])
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
  schema.createIndex('tokens_created').on('tokens').columns(['tenant_id', 'created_at', 'seq']),
  schema.createIndex('tokens_created_by').on('tokens').columns(['tenant_id', 'created_by', 'seq']),
  schema
    .createIndex('tokens_modified')
    .on('tokens')
    .columns(['tenant_id', 'modified_at'])
    .where('modified_at', 'is not', null),
  schema
    .createIndex('tokens_modified_by')
    .on('tokens')
    .columns(['tenant_id', 'modified_by', 'seq'])
    .where('modified_by', 'is not', null),

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
    .createTable('token_associations')
    .addColumn('parent_seq', integer, (c) => c.notNull().references('tokens.seq').onDelete('cascade'))
    .addColumn('child_seq', integer, (c) => c.notNull().references('tokens.seq').onDelete('cascade'))
    .addColumn('tenant_id', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('token_associations_pk', ['parent_seq', 'child_seq'])
    .modifyEnd(clustered),
  schema.createIndex('token_associations_child').on('token_associations').column('child_seq'),
]
