import { type SqlBool, sql } from 'kysely'
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

export const tenantById = statement<{ tenant_id: string }, Schema['tenants'] & { mac: Uint8Array | null }>(
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

export const allTenants = serviceStatement<object, Schema['tenants']>(({ builder }) =>
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

export const updateTenant = serviceStatement<Omit<Schema['tenants'], 'created_by' | 'created_at'>>(
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

export const deleteTenantKeys = statement<{ tenant_id: string }>(({ builder }, slot) =>
  builder.deleteFrom('tenant_keys').where('tenant_id', '=', slot('tenant_id')),
)

/** Names of all collections that were ever written. */
export const allKinds = openStatement<object, { kind: string }>(({ builder }) =>
  builder.selectFrom('changes').orderBy('kind').select('kind'),
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

export const keysOfTenant = statement<{ tenant_id: string }, Schema['tenant_keys']>(({ builder }, slot) =>
  builder
    .selectFrom('tenant_keys')
    .where('tenant_id', '=', slot('tenant_id'))
    .orderBy('purpose')
    .orderBy('version')
    .select(KEY_COLUMNS),
)

/** Rows up to this version open values and seal none; such a row holds no key. */
export const CLOSED = 'data-closed'

export const dataVersions = statement<
  { tenant_id: string },
  Pick<Schema['tenant_keys'], 'purpose' | 'version'>
>(({ builder }, slot) =>
  builder
    .selectFrom('tenant_keys')
    .where('tenant_id', '=', slot('tenant_id'))
    .where('purpose', 'in', [sql.lit('data'), sql.lit(CLOSED)])
    .select(['purpose', 'version']),
)

/** Change counter of keys. No collection can have this name. */
export const KEY_CHANGES = '#keys'

/** Change counter of existing tenants. */
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

/** Keys of all owners, by owner, purpose and version, after a row. */
export const keysAfter = serviceStatement<
  Pick<Schema['tenant_keys'], 'tenant_id' | 'purpose' | 'version'> & { limit: number },
  Schema['tenant_keys']
>(({ builder }, slot) =>
  builder
    .selectFrom('tenant_keys')
    .where(
      sql<SqlBool>`(tenant_id, purpose, version) > (${slot('tenant_id')}, ${slot('purpose')}, ${slot('version')})`,
    )
    .orderBy('tenant_id')
    .orderBy('purpose')
    .orderBy('version')
    .limit(slot('limit'))
    .select(KEY_COLUMNS),
)

type KeyOf = Pick<Schema['tenant_keys'], 'tenant_id' | 'purpose' | 'version'>

/** Writes only over the bytes that were read. */
export const replaceKey = statement<KeyOf & { from: Uint8Array; to: Uint8Array }>(({ builder }, slot) =>
  builder
    .updateTable('tenant_keys')
    .set({ wrapped: slot('to') })
    .where('tenant_id', '=', slot('tenant_id'))
    .where('purpose', '=', slot('purpose'))
    .where('version', '=', slot('version'))
    .where('wrapped', '=', slot('from')),
)

export const dateKey = statement<KeyOf & { created_at: number }>(({ builder }, slot) =>
  builder
    .updateTable('tenant_keys')
    .set({ created_at: slot('created_at') })
    .where('tenant_id', '=', slot('tenant_id'))
    .where('purpose', '=', slot('purpose'))
    .where('version', '=', slot('version')),
)

export const deleteKey = statement<KeyOf>(({ builder }, slot) =>
  builder
    .deleteFrom('tenant_keys')
    .where('tenant_id', '=', slot('tenant_id'))
    .where('purpose', '=', slot('purpose'))
    .where('version', '=', slot('version')),
)

/**
 * A key wrapped by another root key than `root`, except purposes in `drop`. Rows of another `format` contain no key.
 */
export const keyOutside = serviceStatement<
  { format: Uint8Array; root: Uint8Array; drop: unknown },
  { tenant_id: string }
>((dialect, slot) =>
  dialect.builder
    .selectFrom('tenant_keys')
    .where(sql<SqlBool>`substr(wrapped, 1, 1) = ${slot('format')}`)
    .where(sql<SqlBool>`substr(wrapped, 2, 8) <> ${slot('root')}`)
    .where((eb) => eb.not(dialect.memberOf('purpose', slot('drop'))))
    .limit(sql.lit(1))
    .select('tenant_id'),
)
