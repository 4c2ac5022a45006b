import type { Migration } from './migration.ts'

/**
 * MACs of records and of tenants, in tables of their own: a row that is put back as it was once does not match its MAC
 * then. NULL cannot stand for "none": a row without a MAC is refused.
 */
export const macs: Migration = {
  version: 9,
  name: 'macs',
  up: (db, { text, integer, bytes, clustered }) => [
    db.schema
      .createTable('record_macs')
      .addColumn('seq', integer, (c) =>
        c.primaryKey().notNull().references('records.seq').onDelete('cascade'),
      )
      .addColumn('tenant_id', text, (c) => c.notNull())
      .addColumn('mac', bytes, (c) => c.notNull())
      .modifyEnd(clustered),
    db.schema
      .createTable('tenant_macs')
      .addColumn('tenant_id', text, (c) =>
        c.primaryKey().notNull().references('tenants.id').onDelete('cascade'),
      )
      .addColumn('mac', bytes, (c) => c.notNull())
      .modifyEnd(clustered),
  ],
}
