import { type SqlBool, sql } from 'kysely'
import { RECORD_COLUMNS, type StoredRecord } from '../records/statements.ts'
import { statement } from '../statement.ts'
import { tenantTokens } from '../tokens/statements.ts'
import { TOKEN_COLUMNS, type TokenRecord } from '../tokens/token-row.ts'
import type { AssociatedPair, SeqPair } from './types.ts'

interface Page {
  readonly tenant_id: string
  readonly limit: number
}

interface Change {
  readonly tenant_id: string
  readonly from: Uint8Array
  readonly to: Uint8Array
}

export const tokensAfter = statement<Page & { after: number }, TokenRecord>((dialect, slot) =>
  tenantTokens(dialect, slot('tenant_id'))
    .where('seq', '>', slot('after'))
    .orderBy('seq')
    .limit(slot('limit'))
    .select(TOKEN_COLUMNS),
)

export const associationsAfter = statement<Page & SeqPair, AssociatedPair>(({ builder }, slot) =>
  builder
    .selectFrom('token_associations')
    .innerJoin('tokens as parent', 'parent.seq', 'token_associations.parent_seq')
    .innerJoin('tokens as child', 'child.seq', 'token_associations.child_seq')
    .where('parent.tenant_id', '=', slot('tenant_id'))
    .where(sql<SqlBool>`(parent_seq, child_seq) > (${slot('parent_seq')}, ${slot('child_seq')})`)
    .orderBy('parent_seq')
    .orderBy('child_seq')
    .limit(slot('limit'))
    .select(['parent_seq', 'child_seq', 'parent.id as parent_id', 'child.id as child_id']),
)

export const recordsAfter = statement<Page & { collection: string; after: number }, StoredRecord>(
  ({ builder }, slot) =>
    builder
      .selectFrom('records')
      .where('collection', '=', slot('collection'))
      .where('tenant_id', '=', slot('tenant_id'))
      .where('seq', '>', slot('after'))
      .orderBy('seq')
      .limit(slot('limit'))
      .select(RECORD_COLUMNS),
)

export const responsesAfter = statement<
  Page & { after: Uint8Array },
  { key: Uint8Array; sealed: Uint8Array | null; shown: Uint8Array | null }
>(({ builder }, slot) =>
  builder
    .selectFrom('idempotency_keys')
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

const responseColumn = (column: 'sealed' | 'shown') =>
  statement<Change & { key: Uint8Array }>(({ builder }, slot) =>
    builder
      .updateTable('idempotency_keys')
      .set(column === 'sealed' ? { sealed: slot('to') } : { shown: slot('to') })
      .where('tenant_id', '=', slot('tenant_id'))
      .where('key', '=', slot('key'))
      .where(column, '=', slot('from')),
  )

export const resealToken = { sealed: tokenColumn('sealed'), ephemeral: tokenColumn('ephemeral') } as const
export const reencryptResponse = { sealed: responseColumn('sealed'), shown: responseColumn('shown') } as const

export const resealMac = statement<Change & { seq: number }>(({ builder }, slot) =>
  builder
    .updateTable('record_macs')
    .set({ mac: slot('to') })
    .where('seq', '=', slot('seq'))
    .where('tenant_id', '=', slot('tenant_id'))
    .where('mac', '=', slot('from')),
)

export const resealRecord = statement<{ tenant_id: string; seq: number; body: string }>(({ builder }, slot) =>
  builder
    .updateTable('records')
    .set({ body: slot('body') })
    .where('seq', '=', slot('seq'))
    .where('tenant_id', '=', slot('tenant_id')),
)
