import type { Statements } from '../migration.ts'

export const records: Statements = ({ schema }, { text, integer, bytes, sequence, table, clustered }) => [
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
    .addColumn('expires_at', integer)
    .addUniqueConstraint('records_id', ['collection', 'tenant_id', 'id'])
    .modifyEnd(table),
  schema.createIndex('records_newest').on('records').columns(['collection', 'tenant_id', 'seq']),
  schema.createIndex('records_expiry').on('records').column('expires_at').where('expires_at', 'is not', null),
  schema
    .createTable('record_macs')
    .addColumn('seq', integer, (c) => c.primaryKey().notNull().references('records.seq').onDelete('cascade'))
    .addColumn('tenant_id', text, (c) => c.notNull())
    // NULL cannot mean "no MAC": a row without one is rejected.
    .addColumn('mac', bytes, (c) => c.notNull())
    .modifyEnd(clustered),

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
]
