import { sql } from 'kysely'
import type { Schema } from '../schema.ts'
import { openStatement, serviceStatement, statement } from '../statement.ts'

const TENANT_COLUMNS = [
  'id',
  'owner_id',
  'name',
  'settings',
  'created_by',
  'created_at',
  'modified_by',
  'modified_at',
] as const

const KEY_COLUMNS = ['tenant_id', 'purpose', 'version', 'wrapped', 'created_at'] as const

export const tenantById = statement<{ tenant_id: string }, Schema['tenants']>(({ builder }, slot) =>
  builder.selectFrom('tenants').where('id', '=', slot('tenant_id')).select(TENANT_COLUMNS),
)

export const allTenants = serviceStatement<object, Schema['tenants']>(({ builder }) =>
  builder.selectFrom('tenants').orderBy('created_at').orderBy('id').select(TENANT_COLUMNS),
)

/** One that is there or was. */
export const anyTenant = serviceStatement<object, { id: string }>(({ builder }) =>
  builder
    .selectFrom('tenants')
    .select('id')
    .unionAll(builder.selectFrom('deleted_tenants').select('id'))
    .limit(sql.lit(1)),
)

/** Writes no row when the id is taken. */
export const insertTenant = serviceStatement<Schema['tenants']>(({ builder }, slot) =>
  builder
    .insertInto('tenants')
    .values({
      id: slot('id'),
      owner_id: slot('owner_id'),
      name: slot('name'),
      settings: slot('settings'),
      created_by: slot('created_by'),
      created_at: slot('created_at'),
      modified_by: slot('modified_by'),
      modified_at: slot('modified_at'),
    })
    .onConflict((conflict) => conflict.doNothing()),
)

/** Answers no row when there is no such tenant. */
export const updateTenant = serviceStatement<
  Pick<Schema['tenants'], 'id' | 'name' | 'modified_by' | 'modified_at'> & { settings: string | null },
  Schema['tenants']
>(({ builder }, slot) =>
  builder
    .updateTable('tenants')
    .set({
      name: slot('name'),
      settings: sql`coalesce(${slot('settings')}, settings)`,
      modified_by: slot('modified_by'),
      modified_at: slot('modified_at'),
    })
    .where('id', '=', slot('id'))
    .returning(TENANT_COLUMNS),
)

export const deleteTenantRow = serviceStatement<{ id: string }>(({ builder }, slot) =>
  builder.deleteFrom('tenants').where('id', '=', slot('id')),
)

export const deleteTenantKeys = statement<{ tenant_id: string }>(({ builder }, slot) =>
  builder.deleteFrom('tenant_keys').where('tenant_id', '=', slot('tenant_id')),
)

/** Names of all collections that were ever written. */
export const allKinds = openStatement<object, { kind: string }>(({ builder }) =>
  builder.selectFrom('changes').orderBy('kind').select('kind'),
)

export const deleteRecordsOf = statement<{ collection: string; tenant_id: string }>(({ builder }, slot) =>
  builder
    .deleteFrom('records')
    .where('collection', '=', slot('collection'))
    .where('tenant_id', '=', slot('tenant_id')),
)

export const insertDeletedTenant = openStatement<{ id: string; deleted_at: number }>(({ builder }, slot) =>
  builder
    .insertInto('deleted_tenants')
    .values({ id: slot('id'), deleted_at: slot('deleted_at'), emptied_at: null })
    .onConflict((conflict) => conflict.doNothing()),
)

export const keysOfTenant = statement<{ tenant_id: string }, Schema['tenant_keys']>(({ builder }, slot) =>
  builder
    .selectFrom('tenant_keys')
    .where('tenant_id', '=', slot('tenant_id'))
    .orderBy('purpose')
    .orderBy('version')
    .select(KEY_COLUMNS),
)

/** Counts every change of keys. No collection can have this name. */
export const KEY_CHANGES = '#keys'

/** Counts every change of a tenant that was there before. */
export const TENANT_CHANGES = '#tenants'

/** Writes no row when that purpose and version exist. */
export const insertKey = statement<Schema['tenant_keys']>(({ builder }, slot) =>
  builder
    .insertInto('tenant_keys')
    .values({
      tenant_id: slot('tenant_id'),
      purpose: slot('purpose'),
      version: slot('version'),
      wrapped: slot('wrapped'),
      created_at: slot('created_at'),
    })
    .onConflict((conflict) => conflict.doNothing()),
)
