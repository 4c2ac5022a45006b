import { type RawBuilder, type Selectable, sql } from 'kysely'
import { parseJson } from '../../common/parse-json.ts'
import type { EgressLimits } from '../../sdk/index.ts'
import { buffer } from '../bytes.ts'
import type { TokensTable } from '../schema.ts'
import type { TokenHead, TokenRow } from './types.ts'

/** A token as the engine returns it. */
export type TokenRecord = Selectable<TokensTable>

export const TOKEN_COLUMNS = [
  'seq',
  'tenant_id',
  'id',
  'type',
  'container',
  'sealed',
  'ephemeral',
  'ephemeral_until',
  'version',
  'metadata',
  'fingerprint',
  'egress',
  'masked',
  'expires_at',
  'created_by',
  'created_at',
  'modified_by',
  'modified_at',
] as const satisfies readonly (keyof TokenRecord)[]

export const HEAD_COLUMNS = ['tokens.seq', 'tokens.id', 'tokens.type', 'tokens.container'] as const

/** Size of seals and metadata, which both engines know without reading them. */
export const BYTES: RawBuilder<number> = sql<number>`octet_length(tokens.sealed) + coalesce(octet_length(tokens.ephemeral), 0) + coalesce(octet_length(tokens.metadata), 0)`

export const toTokenHead = ({ bytes, ...head }: TokenHead): TokenHead => ({ ...head, bytes: Number(bytes) })

export const egressOf = (text: string | null): EgressLimits | null =>
  text === null ? null : (parseJson(text) as EgressLimits)

/** The columns of a row that are stored as JSON. */
export const jsonColumns = ({ metadata, egress }: Pick<TokenRow, 'metadata' | 'egress'>) => ({
  metadata: metadata === null ? null : JSON.stringify(metadata),
  egress: egress === null ? null : JSON.stringify(egress),
})

/** Converts a row, which the caller must not use any more. Due ephemerals are removed, even before the purge. */
export const toTokenRow = (record: TokenRecord, now: number): TokenRow => {
  const due = record.ephemeral_until !== null && record.ephemeral_until <= now
  // In place: a copy of all columns costs more than the rest.
  return Object.assign(record, {
    sealed: buffer(record.sealed),
    ephemeral: due || record.ephemeral === null ? null : buffer(record.ephemeral),
    ephemeral_until: due ? null : record.ephemeral_until,
    metadata: record.metadata === null ? null : (parseJson(record.metadata) as Record<string, string>),
    egress: egressOf(record.egress),
  })
}

/** Converts the bytes of a row from another thread back to Buffers. */
export const revive = (row: TokenRow): TokenRow => ({
  ...row,
  sealed: buffer(row.sealed),
  ephemeral: row.ephemeral === null ? null : buffer(row.ephemeral),
})
