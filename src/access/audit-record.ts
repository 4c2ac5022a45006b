import type { AuditEvent, AuditOrigin } from '../sdk/index.ts'
import type { LogRow } from '../store/logs/types.ts'

/** An event of an entity. Never holds data, keys, bodies or query strings (completions §10, §12). */
export type AuditRecord = Omit<LogRow, 'journal' | 'journal_seq' | 'hash'>

/** Characters of an id and of a message. */
const MAX_ID = 400
const MAX_MESSAGE = 250

/** The first `maximum` code points. */
const cut = (text: string, maximum: number): string =>
  text.length <= maximum ? text : [...text].slice(0, maximum).join('')

const PAST: Readonly<Record<string, string>> = {
  create: 'created',
  read: 'retrieved',
  update: 'updated',
  delete: 'deleted',
  use: 'used',
  authorize: 'authorized',
}

/** `read` → "retrieved". */
export const pastOf = (operation: string): string => PAST[operation] ?? operation

interface Actor {
  readonly tenantId: string
  readonly id: string | null
  readonly type: string | null
}

const recordOf = (
  { entity, id, operation, message }: AuditEvent,
  actor: Actor,
  traceId: string,
  at: number,
): AuditRecord => ({
  tenant_id: actor.tenantId,
  entity_type: entity,
  entity_id: cut(id, MAX_ID),
  operation,
  actor_id: actor.id,
  actor_type: actor.type,
  message: cut(message, MAX_MESSAGE),
  trace_id: traceId,
  created_at: at,
})

/** The audit record of an event that a caller caused (completions §10). Anonymous callers have neither id nor type. */
export const auditRecord = (event: AuditEvent, { caller, traceId }: AuditOrigin, at: number): AuditRecord => {
  const { tenantId, actorId, actorType } = caller
  const actor = actorType === 'anonymous' ? { id: null, type: null } : { id: actorId, type: actorType }
  return recordOf(event, { tenantId, ...actor }, traceId, at)
}

/** The audit record of an event that an operator caused, by a command or on the maintenance socket. */
export const operatorRecord = (
  tenantId: string,
  event: AuditEvent,
  traceId: string,
  at: number,
): AuditRecord => recordOf(event, { tenantId, id: null, type: 'operator' }, traceId, at)
