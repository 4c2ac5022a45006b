import { statement } from './statement.ts'

/** Index entries from a token to the records, of any collection, that are deleted with it. */
const TOKENS = '$tokens'

/** Index entry of a record that is deleted with a token. */
export const tokenEntry = (
  token: { readonly tenant_id: string; readonly token_id: string },
  seq: number,
) => ({
  collection: TOKENS,
  tenant_id: token.tenant_id,
  member: '',
  value: token.token_id,
  seq,
})

/** Tokens that a record is bound to. */
export const tokensOfRecord = statement<{ seq: number }, { value: string }>(({ builder }, slot) =>
  builder
    .selectFrom('record_indexes')
    .where('seq', '=', slot('seq'))
    .where('collection', '=', TOKENS)
    .select('value'),
)

/**
 * Deletes the records of a token in all collections. Change counters do not change, so no cacheable collection is bound
 * to tokens.
 */
export const deleteRecordsOfToken = statement<{ tenant_id: string; token_id: string }>(({ builder }, slot) =>
  builder
    .deleteFrom('records')
    .where('tenant_id', '=', slot('tenant_id'))
    .where('seq', 'in', (eb) =>
      eb
        .selectFrom('record_indexes')
        .where('record_indexes.collection', '=', TOKENS)
        .where('record_indexes.tenant_id', '=', slot('tenant_id'))
        .where('record_indexes.member', '=', '')
        .where('record_indexes.value', '=', slot('token_id'))
        .select('record_indexes.seq'),
    ),
)

/** Records of all collections that are deleted with the token and would outlive its new expiry. */
export const deleteRecordsOutliving = statement<{ tenant_id: string; token_id: string; expires_at: number }>(
  ({ builder }, slot) => {
    const token = { tenant_id: slot('tenant_id'), token_id: slot('token_id') }
    const { collection, tenant_id, member, value } = tokenEntry(token, 0)
    return builder
      .deleteFrom('records')
      .where('tenant_id', '=', tenant_id)
      .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', slot('expires_at'))]))
      .where('seq', 'in', (eb) =>
        eb
          .selectFrom('record_indexes')
          .where('record_indexes.collection', '=', collection)
          .where('record_indexes.tenant_id', '=', tenant_id)
          .where('record_indexes.member', '=', member)
          .where('record_indexes.value', '=', value)
          .select('record_indexes.seq'),
      )
  },
)

export const insertRecordToken = statement<{ tenant_id: string; token_id: string; key: Uint8Array }>(
  ({ builder, valuesOf }, slot) =>
    builder
      .insertInto('idempotency_key_tokens')
      .columns(['tenant_id', 'token_id', 'key'])
      .expression(valuesOf(slot, { tenant_id: 'text', token_id: 'text', key: 'bytea' }))
      .onConflict((conflict) => conflict.doNothing()),
)

/** Stored responses that show data of a token. */
export const clearShown = statement<{ tenant_id: string; token_id: string }>(({ builder }, slot) =>
  builder
    .updateTable('idempotency_keys')
    .set({ shown: null, shown_until: null })
    .where('tenant_id', '=', slot('tenant_id'))
    .where('key', 'in', (eb) =>
      eb
        .selectFrom('idempotency_key_tokens')
        .where('idempotency_key_tokens.tenant_id', '=', slot('tenant_id'))
        .where('token_id', '=', slot('token_id'))
        .select('idempotency_key_tokens.key'),
    ),
)
