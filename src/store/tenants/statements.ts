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

export type StoredColumns = Pick<Schema['tenants'], (typeof TENANT_COLUMNS)[number]>

export const tenantById = statement<{ tenant_id: string }, StoredColumns & { mac: Uint8Array | null }>(
  ({ builder }, slot) =>
    builder
      .selectFrom('tenants')
      .where('id', '=', slot('tenant_id'))
      .select(TENANT_COLUMNS)
      .select(
        sql<Uint8Array | null>`(select mac from tenant_macs where tenant_macs.tenant_id = tenants.id)`.as(
          'mac',
        ),
      ),
)

export const allTenants = serviceStatement<object, StoredColumns>(({ builder }) =>
  builder.selectFrom('tenants').orderBy('created_at').orderBy('id').select(TENANT_COLUMNS),
)

/** A live or deleted tenant. */
export const anyTenant = serviceStatement<object, { id: string }>(({ builder }) =>
  builder
    .selectFrom('tenants')
    .select('id')
    .unionAll(builder.selectFrom('deleted_tenants').select('id'))
    .limit(sql.lit(1)),
)

/** Writes no row when the id is in use. */
export const insertTenant = serviceStatement<StoredColumns>(({ builder }, slot) =>
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

export const updateTenant = serviceStatement<Omit<StoredColumns, 'created_by' | 'created_at'>>(
  ({ builder }, slot) =>
    builder
      .updateTable('tenants')
      .set({
        owner_id: slot('owner_id'),
        name: slot('name'),
        settings: slot('settings'),
        modified_by: slot('modified_by'),
        modified_at: slot('modified_at'),
      })
      .where('id', '=', slot('id')),
)

export const insertTenantMac = statement<Schema['tenant_macs']>(({ builder }, slot) =>
  builder.insertInto('tenant_macs').values({ tenant_id: slot('tenant_id'), mac: slot('mac') }),
)

/** Writes only over the MAC that was read. */
export const replaceTenantMac = statement<{ tenant_id: string; from: Uint8Array; to: Uint8Array }>(
  ({ builder }, slot) =>
    builder
      .updateTable('tenant_macs')
      .set({ mac: slot('to') })
      .where('tenant_id', '=', slot('tenant_id'))
      .where('mac', '=', slot('from')),
)

export const deleteTenantRow = serviceStatement<{ id: string }>(({ builder }, slot) =>
  builder.deleteFrom('tenants').where('id', '=', slot('id')),
)

export const anyRecordOf = statement<{ collection: string; tenant_id: string }, { seq: number }>(
  ({ builder }, slot) =>
    builder
      .selectFrom('records')
      .where('collection', '=', slot('collection'))
      .where('tenant_id', '=', slot('tenant_id'))
      .limit(sql.lit(1))
      .select('seq'),
)

export const insertDeletedTenant = openStatement<{ id: string; deleted_at: number }>(({ builder }, slot) =>
  builder
    .insertInto('deleted_tenants')
    .values({ id: slot('id'), deleted_at: slot('deleted_at'), emptied_at: null })
    .onConflict((conflict) => conflict.doNothing()),
)

/** A row when the tenant has, or had, tokens that are `egress_only`. */
export const egressOnlyTenant = statement<{ tenant_id: string }, { id: string }>(({ builder }, slot) =>
  builder
    .selectFrom('tenants')
    .where('id', '=', slot('tenant_id'))
    .where('has_egress_only', '=', sql.lit(1))
    .select('id'),
)

/** Writes no row when it is set already. */
export const setEgressOnly = statement<{ tenant_id: string }>(({ builder }, slot) =>
  builder
    .updateTable('tenants')
    .set({ has_egress_only: sql.lit(1) })
    .where('id', '=', slot('tenant_id'))
    .where('has_egress_only', 'is', null),
)

/** Change counter of existing tenants. */
export const TENANT_CHANGES = '#tenants'
