import { auditRecord, pastOf } from '../access/audit-record.ts'
import type { Decision } from '../access/rules.ts'
import type { AuditRecord } from '../audit/types.ts'
import type { LoggedDisclosure, UseContext } from '../sdk/index.ts'
import type { TokenRow } from '../store/tokens/types.ts'
import { effectiveDisclosure } from './disclosure.ts'
import type { VaultDeps } from './vault-deps.ts'

export type TokenOperation = 'create' | 'read' | 'update' | 'delete' | 'use'

/** The token a record is about; `id` is `''` for a create that was denied. */
interface Subject {
  readonly id: string
  readonly type: string
  readonly seq?: number
}

/** The subject of records about lists and searches. */
export const NO_TOKEN: Subject = { id: '', type: 'token' }

/** Operations that count as activity of a token in usage reports. */
const ACTIVE: readonly TokenOperation[] = ['create', 'read', 'use']

const titleOf = (deps: Pick<VaultDeps, 'types'>, type: string): string =>
  deps.types.get(type)?.title ?? 'Token'

/** The record of something done to a token, e.g. "Card used" (completions §10). */
export const doneRecord = (
  deps: Pick<VaultDeps, 'types'>,
  { id, type, seq }: Subject,
  operation: TokenOperation,
  context: UseContext,
  at: number,
  disclosure?: LoggedDisclosure,
): AuditRecord => {
  const message = `${titleOf(deps, type)} ${pastOf(operation)}`
  const event = auditRecord({ entity: type, id, operation, message }, context, at)
  const record = disclosure === undefined ? event : { ...event, disclosure }
  if (seq === undefined || !ACTIVE.includes(operation)) return record
  const surfaces = operation === 'use' ? context.surfacesOf?.(id) : undefined
  if (surfaces === undefined) return { ...record, token_seq: seq }
  return { ...record, token_seq: seq, surfaces: surfaces.join('\n') }
}

/** The record of a call that was denied, e.g. "Card read denied". */
export const deniedRecord = (
  deps: Pick<VaultDeps, 'types'>,
  { id, type }: Subject,
  operation: TokenOperation,
  context: UseContext,
  at: number,
): AuditRecord => {
  const message = `${titleOf(deps, type)} ${operation} denied`
  return auditRecord({ entity: type, id, operation, message }, context, at)
}

/** The record of a duplicate, which a create or an update would have made: a read of the existing token. */
export const duplicateRecord = (
  deps: Pick<VaultDeps, 'types'>,
  row: Subject & Pick<TokenRow, 'masked'>,
  decision: Decision,
  context: UseContext,
  at: number,
): AuditRecord => {
  if (decision === 'denied') return deniedRecord(deps, row, 'read', context, at)
  const disclosure = effectiveDisclosure(deps.types.get(row.type), row.masked !== null, decision)
  return doneRecord(deps, row, 'read', context, at, disclosure)
}

/** The record of a search by `data` that matched no token. */
export const searchedRecord = (context: UseContext, at: number): AuditRecord =>
  auditRecord(
    { entity: NO_TOKEN.type, id: NO_TOKEN.id, operation: 'read', message: 'Tokens searched' },
    context,
    at,
  )
