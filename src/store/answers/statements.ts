import type { IdempotentAnswersTable } from '../schema.ts'
import { statement } from '../statement.ts'

type Answer = IdempotentAnswersTable
type Key = Pick<Answer, 'tenant_id' | 'key'>

export const answerByKey = statement<Key, Answer>(({ builder }, slot) =>
  builder
    .selectFrom('idempotent_answers')
    .where('tenant_id', '=', slot('tenant_id'))
    .where('key', '=', slot('key'))
    .selectAll(),
)

export const deleteAnswer = statement<Key>(({ builder }, slot) =>
  builder
    .deleteFrom('idempotent_answers')
    .where('tenant_id', '=', slot('tenant_id'))
    .where('key', '=', slot('key')),
)

export const insertAnswer = statement<Omit<Answer, 'sealed' | 'shown' | 'shown_until'>>(({ builder }, slot) =>
  builder.insertInto('idempotent_answers').values({
    tenant_id: slot('tenant_id'),
    key: slot('key'),
    operation: slot('operation'),
    holder: slot('holder'),
    sealed: null,
    expires_at: slot('expires_at'),
    shown: null,
    shown_until: null,
  }),
)

/** Writes no row when another holder took over. */
export const sealAnswer = statement<Omit<Answer, 'operation'>>(({ builder }, slot) =>
  builder
    .updateTable('idempotent_answers')
    .set({
      sealed: slot('sealed'),
      expires_at: slot('expires_at'),
      shown: slot('shown'),
      shown_until: slot('shown_until'),
    })
    .where('tenant_id', '=', slot('tenant_id'))
    .where('key', '=', slot('key'))
    .where('holder', '=', slot('holder')),
)

/** Only while there is no answer. */
export const dropAnswer = statement<Key & Pick<Answer, 'holder'>>(({ builder }, slot) =>
  builder
    .deleteFrom('idempotent_answers')
    .where('tenant_id', '=', slot('tenant_id'))
    .where('key', '=', slot('key'))
    .where('holder', '=', slot('holder'))
    .where('sealed', 'is', null),
)

export const insertAnswerToken = statement<{ tenant_id: string; token_id: string; key: Uint8Array }>(
  ({ builder }, slot) =>
    builder
      .insertInto('answer_tokens')
      .values({ tenant_id: slot('tenant_id'), token_id: slot('token_id'), key: slot('key') }),
)

/** Of all answers that show something of a token. */
export const forgetShown = statement<{ tenant_id: string; token_id: string }>(({ builder }, slot) =>
  builder
    .updateTable('idempotent_answers')
    .set({ shown: null, shown_until: null })
    .where('tenant_id', '=', slot('tenant_id'))
    .where('key', 'in', (eb) =>
      eb
        .selectFrom('answer_tokens')
        .where('answer_tokens.tenant_id', '=', slot('tenant_id'))
        .where('token_id', '=', slot('token_id'))
        .select('answer_tokens.key'),
    ),
)
