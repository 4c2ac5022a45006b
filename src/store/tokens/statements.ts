import { type ExpressionBuilder, sql } from 'kysely'
import type { Dialect, NumberedRow } from '../dialect.ts'
import type { Schema } from '../schema.ts'
import { serviceStatement, statement } from '../statement.ts'
import { BYTES, HEAD_COLUMNS, TOKEN_COLUMNS, type TokenRecord } from './token-row.ts'
import type { TokenHead } from './types.ts'

/**
 * Tokens of one tenant. Every read of tokens starts here, so that tenant isolation is one line
 * (docs/security-model.md, "Tenant isolation").
 */
export const tenantTokens = ({ builder }: Dialect, tenantId: string) =>
  builder.selectFrom('tokens').where('tokens.tenant_id', '=', tenantId)

/** Not expired. */
export const live = (now: number) => (eb: ExpressionBuilder<Schema, 'tokens'>) =>
  eb.or([eb('tokens.expires_at', 'is', null), eb('tokens.expires_at', '>', now)])

export const tokenById = statement<{ tenant_id: string; id: string; now: number }, TokenRecord>(
  (dialect, slot) =>
    tenantTokens(dialect, slot('tenant_id'))
      .where('id', '=', slot('id'))
      .where(live(slot('now')))
      .select(TOKEN_COLUMNS),
)

/** States of tokens, locked against changes until the end of the command. */
export const tokenStatesForShare = statement<
  { tenant_id: string; ids: unknown; now: number },
  Pick<TokenRecord, 'id' | 'created_at' | 'version' | 'expires_at'>
>((dialect, slot) =>
  dialect.forShare(
    tenantTokens(dialect, slot('tenant_id'))
      .where(dialect.memberOf('id', slot('ids')))
      .where(live(slot('now')))
      .select(['id', 'created_at', 'version', 'expires_at']),
  ),
)

export const tokensByIds = statement<{ tenant_id: string; ids: unknown; now: number }, TokenRecord>(
  (dialect, slot) =>
    tenantTokens(dialect, slot('tenant_id'))
      .where(dialect.memberOf('id', slot('ids')))
      .where(live(slot('now')))
      .select(TOKEN_COLUMNS),
)

export const tokenHeadsByIds = statement<
  { tenant_id: string; ids: unknown; now: number },
  Omit<TokenHead, 'egress'> & Pick<TokenRecord, 'egress'>
>((dialect, slot) =>
  tenantTokens(dialect, slot('tenant_id'))
    .where(dialect.memberOf('id', slot('ids')))
    .where(live(slot('now')))
    .select([...HEAD_COLUMNS, 'tokens.egress', BYTES.as('bytes')]),
)

/**
 * Oldest live token with a fingerprint in a container, except `seq`. Without order and bound limit on SQLite, which
 * would prepare the statement again on each call, and finds the oldest first anyway.
 */
export const tokenByFingerprint = statement<
  { tenant_id: string; fingerprint: string; container: string; seq: number; now: number },
  TokenRecord
>((dialect, slot) =>
  dialect.forEachRow(
    slot,
    { tenant_id: 'text', fingerprint: 'text', container: 'text', seq: 'bigint', now: 'bigint' },
    (value) =>
      tenantTokens(dialect, value('tenant_id'))
        .where('fingerprint', '=', value('fingerprint'))
        .where('container', '=', value('container'))
        .where('seq', '<>', value('seq'))
        .where(live(value('now')))
        .$if(dialect.engine === 'postgres', (query) => query.orderBy('seq'))
        .limit(sql.lit(1))
        .select(TOKEN_COLUMNS),
  ),
)

/** Container and traits of a token. */
export const locatedToken = statement<
  { tenant_id: string; id: string; now: number },
  Pick<TokenRecord, 'container' | 'type' | 'masked' | 'egress'>
>((dialect, slot) =>
  tenantTokens(dialect, slot('tenant_id'))
    .where('id', '=', slot('id'))
    .where(live(slot('now')))
    .select(['container', 'type', 'masked', 'egress']),
)

type TokenValues = Omit<TokenRecord, 'seq' | 'modified_by' | 'modified_at'>

const INSERTED = {
  tenant_id: 'text',
  id: 'text',
  type: 'text',
  container: 'text',
  sealed: 'bytea',
  ephemeral: 'bytea',
  ephemeral_until: 'bigint',
  version: 'bigint',
  metadata: 'text',
  fingerprint: 'text',
  egress: 'text',
  masked: 'bigint',
  expires_at: 'bigint',
  created_by: 'text',
  created_at: 'bigint',
} as const satisfies Record<keyof TokenValues, string>

/** Writes no row when the id is in use. */
export const insertToken = statement<TokenValues, NumberedRow>(({ builder, numbered, valuesOf }, slot) =>
  numbered(
    builder
      .insertInto('tokens')
      .columns(Object.keys(INSERTED) as (keyof TokenValues)[])
      .expression(valuesOf(slot, INSERTED))
      .onConflict((conflict) => conflict.columns(['tenant_id', 'id']).doNothing()),
  ),
)

type TokenChange = Pick<
  TokenRecord,
  | 'seq'
  | 'tenant_id'
  | 'type'
  | 'container'
  | 'sealed'
  | 'ephemeral'
  | 'ephemeral_until'
  | 'metadata'
  | 'fingerprint'
  | 'egress'
  | 'masked'
  | 'expires_at'
  | 'modified_by'
  | 'modified_at'
> & { readonly version: number }

/** Writes only over the version that was read. */
export const updateToken = statement<TokenChange>(({ builder }, slot) =>
  builder
    .updateTable('tokens')
    .set((eb) => ({
      type: slot('type'),
      container: slot('container'),
      sealed: slot('sealed'),
      ephemeral: slot('ephemeral'),
      ephemeral_until: slot('ephemeral_until'),
      version: eb('version', '+', 1),
      metadata: slot('metadata'),
      fingerprint: slot('fingerprint'),
      egress: slot('egress'),
      masked: slot('masked'),
      expires_at: slot('expires_at'),
      modified_by: slot('modified_by'),
      modified_at: slot('modified_at'),
    }))
    .where('seq', '=', slot('seq'))
    .where('tenant_id', '=', slot('tenant_id'))
    .where('version', '=', slot('version')),
)

/** Columns that counters need. */
const COUNTED_COLUMNS = [
  'tenant_id',
  'container',
  'type',
  'expires_at',
] as const satisfies readonly (keyof TokenRecord)[]

type CountedRecord = Pick<TokenRecord, (typeof COUNTED_COLUMNS)[number]>

/** Foreign keys delete terms and metadata. */
export const deleteToken = statement<{ tenant_id: string; id: string }, CountedRecord>(({ builder }, slot) =>
  builder
    .deleteFrom('tokens')
    .where('tenant_id', '=', slot('tenant_id'))
    .where('id', '=', slot('id'))
    .returning(COUNTED_COLUMNS),
)

/** Deletes a token in the state that was read only. */
export const deleteTokenVersion = statement<
  { tenant_id: string; seq: number; version: number },
  CountedRecord
>(({ builder }, slot) =>
  builder
    .deleteFrom('tokens')
    .where('tenant_id', '=', slot('tenant_id'))
    .where('seq', '=', slot('seq'))
    .where('version', '=', slot('version'))
    .returning(COUNTED_COLUMNS),
)

export const deleteExpiredToken = statement<{ tenant_id: string; id: string; now: number }, CountedRecord>(
  ({ builder }, slot) =>
    builder
      .deleteFrom('tokens')
      .where('tenant_id', '=', slot('tenant_id'))
      .where('id', '=', slot('id'))
      .where('expires_at', '<=', slot('now'))
      .returning(COUNTED_COLUMNS),
)

export const expiredTokens = serviceStatement<{ now: number; limit: number }, { seq: number }>(
  (dialect, slot) =>
    dialect.forUpdate(
      dialect.builder
        .selectFrom('tokens')
        .where('expires_at', '<=', slot('now'))
        .orderBy('expires_at')
        .limit(slot('limit'))
        .select('seq'),
    ),
)

export const purgeTokens = serviceStatement<{ seqs: unknown; now: number }, CountedRecord>((dialect, slot) =>
  dialect.builder
    .deleteFrom('tokens')
    .where(dialect.memberOf('seq', slot('seqs')))
    .where('expires_at', '<=', slot('now'))
    .returning(COUNTED_COLUMNS),
)

export const purgeEphemerals = serviceStatement<{ now: number; limit: number }>(({ builder }, slot) =>
  builder
    .updateTable('tokens')
    .set({ ephemeral: null, ephemeral_until: null })
    .where('seq', 'in', (eb) =>
      eb
        .selectFrom('tokens')
        .where('ephemeral_until', '<=', slot('now'))
        .orderBy('ephemeral_until')
        .limit(slot('limit'))
        .select('seq'),
    )
    // Checked again: the row may have changed while its lock was awaited.
    .where('ephemeral_until', '<=', slot('now')),
)

export const insertTerm = statement<Schema['token_terms']>(({ builder, valuesOf }, slot) =>
  builder
    .insertInto('token_terms')
    .columns(['tenant_id', 'term', 'seq'])
    .expression(valuesOf(slot, { tenant_id: 'text', term: 'bytea', seq: 'bigint' }))
    .onConflict((conflict) => conflict.doNothing()),
)

export const deleteTerms = statement<{ seq: number }>(({ builder }, slot) =>
  builder.deleteFrom('token_terms').where('seq', '=', slot('seq')),
)

export const insertMetadata = statement<Schema['token_metadata']>(({ builder, valuesOf }, slot) =>
  builder
    .insertInto('token_metadata')
    .columns(['tenant_id', 'key', 'value', 'seq'])
    .expression(valuesOf(slot, { tenant_id: 'text', key: 'text', value: 'text', seq: 'bigint' })),
)

export const deleteMetadata = statement<{ seq: number }>(({ builder }, slot) =>
  builder.deleteFrom('token_metadata').where('seq', '=', slot('seq')),
)

/** Writes no row when the association exists. */
export const insertAssociation = statement<Schema['token_associations']>(({ builder, valuesOf }, slot) =>
  builder
    .insertInto('token_associations')
    .columns(['tenant_id', 'parent_seq', 'child_seq'])
    .expression(valuesOf(slot, { tenant_id: 'text', parent_seq: 'bigint', child_seq: 'bigint' }))
    .onConflict((conflict) => conflict.doNothing()),
)

export const deleteAssociation = statement<Schema['token_associations']>(({ builder }, slot) =>
  builder
    .deleteFrom('token_associations')
    .where('parent_seq', '=', slot('parent_seq'))
    .where('child_seq', '=', slot('child_seq'))
    .where('tenant_id', '=', slot('tenant_id')),
)

/** A live token by its number: a token may have been deleted since it was read. */
export const liveTokenBySeq = statement<{ tenant_id: string; seq: number; now: number }, { seq: number }>(
  (dialect, slot) =>
    tenantTokens(dialect, slot('tenant_id'))
      .where('seq', '=', slot('seq'))
      .where(live(slot('now')))
      .select('seq'),
)
