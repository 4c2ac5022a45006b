import { type SqlBool, sql } from 'kysely'
import type { Schema } from '../schema.ts'
import { serviceStatement, statement } from '../statement.ts'

const KEY_COLUMNS = ['tenant_id', 'purpose', 'version', 'wrapped', 'created_at'] as const

/** Rows up to this version open values and seal none; such a row holds no key. */
export const CLOSED = 'data-closed'

/** Change counter of keys. No collection can have this name. */
export const KEY_CHANGES = '#keys'

type KeyOf = Pick<Schema['tenant_keys'], 'tenant_id' | 'purpose' | 'version'>

export const keysOfTenant = statement<{ tenant_id: string }, Schema['tenant_keys']>(({ builder }, slot) =>
  builder
    .selectFrom('tenant_keys')
    .where('tenant_id', '=', slot('tenant_id'))
    .orderBy('purpose')
    .orderBy('version')
    .select(KEY_COLUMNS),
)

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

export const deleteTenantKeys = statement<{ tenant_id: string }>(({ builder }, slot) =>
  builder.deleteFrom('tenant_keys').where('tenant_id', '=', slot('tenant_id')),
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
