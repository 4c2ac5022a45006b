import { createHash } from 'node:crypto'
import { isoTime, type LogEntry } from '#sdk'
import type { WebhookEvent } from './collections.ts'

/** Bytes of a request to a receiver, beside `delivered_at`. */
const MAX_BYTES = 64 * 1024 - 100

/** A UUID (version 8, RFC 9562) that follows from these values. */
export const idOf = (...values: readonly unknown[]): string => {
  const hash = createHash('sha256').update(JSON.stringify(values)).digest()
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x80
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80
  return hash.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** The same for each delivery of a record. A position may stand for another record in a restored store. */
const eventIdOf = (entry: LogEntry): string =>
  idOf(
    entry.position,
    entry.tenant_id,
    entry.created_at,
    entry.trace_id,
    entry.entity_type,
    entry.entity_id,
    entry.operation,
  )

/** The event of an audit record. `metadata`: of the token that it is about; left out where it is too large. */
export const eventOf = (
  entry: LogEntry,
  { type, isToken }: { readonly type: string; readonly isToken: boolean },
  metadata?: Readonly<Record<string, string>>,
): WebhookEvent => {
  const { entity_id: id, entity_type, actor_id, actor_type } = entry
  const withMembers = (members: object): WebhookEvent => ({
    id: eventIdOf(entry),
    type,
    timestamp: isoTime(entry.created_at),
    tenant_id: entry.tenant_id,
    trace_id: entry.trace_id,
    data: {
      [isToken ? 'token' : entity_type]: { id, ...(isToken ? { type: entity_type } : {}), ...members },
      actor: { id: actor_id, type: actor_type ?? 'anonymous' },
    },
  })
  if (metadata === undefined) return withMembers({})
  const event = withMembers({ metadata })
  return Buffer.byteLength(JSON.stringify(event)) > MAX_BYTES ? withMembers({}) : event
}
