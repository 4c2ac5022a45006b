import { type SqlBool, sql } from 'kysely'
import { openStatement, serviceStatement, statement } from '../statement.ts'

interface Due {
  readonly now: number
  readonly limit: number
}

// The purges check expiry again: a row may have changed while its lock was awaited.

interface OfTenant {
  readonly tenant_id: string
  readonly limit: number
}

export const purgeRecords = serviceStatement<Due>(({ builder }, slot) =>
  builder
    .deleteFrom('records')
    .where('seq', 'in', (eb) =>
      eb
        .selectFrom('records')
        .where('expires_at', '<=', slot('now'))
        .orderBy('expires_at')
        .limit(slot('limit'))
        .select('seq'),
    )
    .where('expires_at', '<=', slot('now')),
)

export const purgeIdempotencyKeys = serviceStatement<Due>(({ builder }, slot) =>
  builder
    .deleteFrom('idempotency_keys')
    .where(
      sql<SqlBool>`(tenant_id, key) in (select tenant_id, key from idempotency_keys
        where expires_at <= ${slot('now')} order by expires_at limit ${slot('limit')})`,
    )
    .where('expires_at', '<=', slot('now')),
)

/** Token data of stored responses whose tokens, or members of them, have expired. */
export const purgeShown = serviceStatement<Due>(({ builder }, slot) =>
  builder
    .updateTable('idempotency_keys')
    .set({ shown: null, shown_until: null })
    .where(
      sql<SqlBool>`(tenant_id, key) in (select tenant_id, key from idempotency_keys
        where shown_until <= ${slot('now')} order by shown_until limit ${slot('limit')})`,
    )
    .where('shown_until', '<=', slot('now')),
)

/** Months before `month`. */
export const purgeActive = serviceStatement<{ readonly month: number; readonly limit: number }>(
  ({ builder }, slot) =>
    builder.deleteFrom('active_tokens').where(
      sql<SqlBool>`(month, tenant_id, seq) in (select month, tenant_id, seq from active_tokens
        where month < ${slot('month')} limit ${slot('limit')})`,
    ),
)

/** Deleted tenants that may have rows left. */
export const fullTenants = openStatement<object, { id: string; deleted_at: number }>(({ builder }) =>
  builder
    .selectFrom('deleted_tenants')
    .where('emptied_at', 'is', null)
    .orderBy('id')
    .select(['id', 'deleted_at']),
)

export const markEmptied = openStatement<{ id: string; emptied_at: number }>(({ builder }, slot) =>
  builder
    .updateTable('deleted_tenants')
    .set({ emptied_at: slot('emptied_at') })
    .where('id', '=', slot('id')),
)

/** Foreign keys delete terms, metadata and associations. */
const tokensOf = statement<OfTenant>(({ builder }, slot) =>
  builder
    .deleteFrom('tokens')
    .where('seq', 'in', (eb) =>
      eb.selectFrom('tokens').where('tenant_id', '=', slot('tenant_id')).limit(slot('limit')).select('seq'),
    ),
)

const tokenCountsOf = statement<OfTenant>(({ builder }, slot) =>
  builder.deleteFrom('token_counts').where(
    sql<SqlBool>`(tenant_id, container, type) in (select tenant_id, container, type from token_counts
        where tenant_id = ${slot('tenant_id')} limit ${slot('limit')})`,
  ),
)

const activeCountsOf = statement<OfTenant>(({ builder }, slot) =>
  builder.deleteFrom('active_counts').where('tenant_id', '=', slot('tenant_id')),
)

const idempotencyKeysOf = statement<OfTenant>(({ builder }, slot) =>
  builder.deleteFrom('idempotency_keys').where(
    sql<SqlBool>`(tenant_id, key) in (select tenant_id, key from idempotency_keys
        where tenant_id = ${slot('tenant_id')} limit ${slot('limit')})`,
  ),
)

export const recordsOf = statement<OfTenant & { readonly collection: string }>(({ builder }, slot) =>
  builder
    .deleteFrom('records')
    .where('seq', 'in', (eb) =>
      eb
        .selectFrom('records')
        .where('collection', '=', slot('collection'))
        .where('tenant_id', '=', slot('tenant_id'))
        .limit(slot('limit'))
        .select('seq'),
    ),
)

/**
 * Removes rows of a deleted tenant, besides its records; its keys were removed at once. Its logs stay: they are the
 * evidence of disclosures and of the deletion, and the chain is verified over the rows of all tenants.
 */
export const OF_TENANT = [tokensOf, tokenCountsOf, activeCountsOf, idempotencyKeysOf]
