import { statement } from '../statement.ts'
import { tenantTokens } from '../tokens/statements.ts'

interface Page {
  readonly tenant_id: string
  readonly limit: number
}

interface Change {
  readonly tenant_id: string
  readonly from: Uint8Array
  readonly to: Uint8Array
}

export const tokensAfter = statement<
  Page & { after: number },
  {
    seq: number
    id: string
    type: string
    version: number
    container: string
    expires_at: number | null
    sealed: Uint8Array
    ephemeral: Uint8Array | null
  }
>((dialect, slot) =>
  tenantTokens(dialect, slot('tenant_id'))
    .where('seq', '>', slot('after'))
    .orderBy('seq')
    .limit(slot('limit'))
    .select(['seq', 'id', 'type', 'version', 'container', 'expires_at', 'sealed', 'ephemeral']),
)

export const recordsAfter = statement<
  Page & { collection: string; after: number },
  { seq: number; id: string; body: string }
>(({ builder }, slot) =>
  builder
    .selectFrom('records')
    .where('collection', '=', slot('collection'))
    .where('tenant_id', '=', slot('tenant_id'))
    .where('seq', '>', slot('after'))
    .orderBy('seq')
    .limit(slot('limit'))
    .select(['seq', 'id', 'body']),
)

export const answersAfter = statement<
  Page & { after: Uint8Array },
  { key: Uint8Array; sealed: Uint8Array | null; shown: Uint8Array | null }
>(({ builder }, slot) =>
  builder
    .selectFrom('idempotent_answers')
    .where('tenant_id', '=', slot('tenant_id'))
    .where('key', '>', slot('after'))
    .orderBy('key')
    .limit(slot('limit'))
    .select(['key', 'sealed', 'shown']),
)

export const sizeOfTenant = statement<{ tenant_id: string }, { count: number | null }>(({ builder }, slot) =>
  builder
    .selectFrom('token_counts')
    .where('tenant_id', '=', slot('tenant_id'))
    .select((eb) => eb.fn.sum<number | null>('count').as('count')),
)

const tokenColumn = (column: 'sealed' | 'ephemeral') =>
  statement<Change & { seq: number }>(({ builder }, slot) =>
    builder
      .updateTable('tokens')
      .set(column === 'sealed' ? { sealed: slot('to') } : { ephemeral: slot('to') })
      .where('seq', '=', slot('seq'))
      .where('tenant_id', '=', slot('tenant_id'))
      .where(column, '=', slot('from')),
  )

const answerColumn = (column: 'sealed' | 'shown') =>
  statement<Change & { key: Uint8Array }>(({ builder }, slot) =>
    builder
      .updateTable('idempotent_answers')
      .set(column === 'sealed' ? { sealed: slot('to') } : { shown: slot('to') })
      .where('tenant_id', '=', slot('tenant_id'))
      .where('key', '=', slot('key'))
      .where(column, '=', slot('from')),
  )

export const resealToken = { sealed: tokenColumn('sealed'), ephemeral: tokenColumn('ephemeral') } as const
export const resealAnswer = { sealed: answerColumn('sealed'), shown: answerColumn('shown') } as const

export const resealRecord = statement<{ tenant_id: string; seq: number; from: string; to: string }>(
  ({ builder }, slot) =>
    builder
      .updateTable('records')
      .set({ body: slot('to') })
      .where('seq', '=', slot('seq'))
      .where('tenant_id', '=', slot('tenant_id'))
      .where('body', '=', slot('from')),
)
