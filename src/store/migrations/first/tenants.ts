import type { Statements } from '../migration.ts'

/** MACs are in tables of their own: restoring an old row does not restore its MAC. */
export const tenants: Statements = ({ schema }, { text, integer, bytes, clustered }) => [
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
    .createTable('tenant_macs')
    .addColumn('tenant_id', text, (c) =>
      c.primaryKey().notNull().references('tenants.id').onDelete('cascade'),
    )
    .addColumn('mac', bytes, (c) => c.notNull())
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
    .createTable('deleted_tenants')
    .addColumn('id', text, (c) => c.primaryKey().notNull())
    .addColumn('deleted_at', integer, (c) => c.notNull())
    .addColumn('emptied_at', integer)
    .modifyEnd(clustered),
]
