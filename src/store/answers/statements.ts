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

/** In place of one that has run out, if there is one. */
export const putAnswer = statement<Omit<Answer, 'sealed'>>(({ builder }, slot) =>
  builder
    .insertInto('idempotent_answers')
    .values({
      tenant_id: slot('tenant_id'),
      key: slot('key'),
      operation: slot('operation'),
      holder: slot('holder'),
      sealed: null,
      expires_at: slot('expires_at'),
    })
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'key']).doUpdateSet({
        operation: (eb) => eb.ref('excluded.operation'),
        holder: (eb) => eb.ref('excluded.holder'),
        sealed: null,
        expires_at: (eb) => eb.ref('excluded.expires_at'),
      }),
    ),
)

/** Writes no row when another holder took over. */
export const sealAnswer = statement<Omit<Answer, 'operation'>>(({ builder }, slot) =>
  builder
    .updateTable('idempotent_answers')
    .set({ sealed: slot('sealed'), expires_at: slot('expires_at') })
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
