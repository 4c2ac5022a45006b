import type { AuditRecord } from '../audit/types.ts'
import type { UseContext } from '../sdk/index.ts'
import type { VaultParts } from './vault-deps.ts'

export type TokenOperation = 'create' | 'read' | 'update' | 'delete' | 'use'

/** How messages say that an operation was done. */
const DONE: Readonly<Record<TokenOperation, string>> = {
  create: 'created',
  read: 'retrieved',
  update: 'updated',
  delete: 'deleted',
  use: 'used',
}

/** The token a record is about; `id` is `''` for a create that was denied. */
interface Subject {
  readonly id: string
  readonly type: string
  readonly seq?: number
}

/** What counts as activity of a token in usage reports. */
const ACTIVE: readonly TokenOperation[] = ['create', 'read', 'use']

const MESSAGE_LENGTH = 250

const record = (
  subject: Subject,
  operation: TokenOperation,
  message: string,
  context: UseContext,
  at: number,
): AuditRecord => {
  const { caller } = context
  const anonymous = caller.actorType === 'anonymous'
  return {
    tenant_id: caller.tenantId,
    entity_type: subject.type,
    entity_id: subject.id,
    operation,
    actor_id: anonymous ? null : caller.actorId,
    actor_type: anonymous ? null : caller.actorType,
    message: message.slice(0, MESSAGE_LENGTH),
    trace_id: context.traceId,
    created_at: at,
  }
}

const titleOf = (parts: Pick<VaultParts, 'types'>, type: string): string =>
  parts.types.get(type)?.title ?? 'Token'

/** The record of something done to a token, e.g. "Card used" (completions §10). */
export const doneRecord = (
  parts: Pick<VaultParts, 'types'>,
  subject: Subject,
  operation: TokenOperation,
  context: UseContext,
  at: number,
): AuditRecord => ({
  ...record(subject, operation, `${titleOf(parts, subject.type)} ${DONE[operation]}`, context, at),
  ...(subject.seq !== undefined && ACTIVE.includes(operation) ? { token_seq: subject.seq } : {}),
})

/** The record of a call that was refused, e.g. "Card read denied". */
export const deniedRecord = (
  parts: Pick<VaultParts, 'types'>,
  subject: Subject,
  operation: TokenOperation,
  context: UseContext,
  at: number,
): AuditRecord =>
  record(subject, operation, `${titleOf(parts, subject.type)} ${operation} denied`, context, at)
