import type { LogEntry } from '../../api/types.ts'
import { count } from '../../kit/numbers.ts'
import { isToken } from './entity-link.ts'

/** Records of tokens that one call has written, e.g. a page of a list; each other record alone. */
export interface AuditRow {
  readonly key: string
  readonly records: readonly [LogEntry, ...LogEntry[]]
}

/** The rows of records, in their order. A trace may have many calls: those of one have one time. */
export const rowsOf = (entries: readonly LogEntry[]): readonly AuditRow[] => {
  const rows = Map.groupBy(entries, ({ trace_id, created_at, operation, actor_id, entity_type }, index) =>
    trace_id === undefined || !isToken(entity_type)
      ? String(index)
      : [trace_id, created_at, operation, actor_id].join(' '),
  )
  return [...rows].map(([key, records]) => ({ key, records: records as [LogEntry, ...LogEntry[]] }))
}

const DISCLOSED = {
  redact: ': redacted',
  mask: ': masked',
  reveal: ': revealed',
  match: ': matched by a search',
} as const

/** The message of a record, with what it disclosed or its labels: `Card retrieved: masked`. */
export const messageOf = ({ message, disclosure, labels }: LogEntry): string => {
  if (disclosure !== undefined) return message + DISCLOSED[disclosure]
  const entries = Object.entries(labels ?? {}).map((label) => label.join('='))
  return entries.length === 0 ? message : `${message}: ${entries.join(', ')}`
}

/** Messages that a summary names. */
const NAMED = 2

/** `Card retrieved: masked × 30, Token retrieved: masked × 20`. */
export const summaryOf = (records: readonly LogEntry[]): string => {
  const messages = [...Map.groupBy(records, messageOf)]
  const named = messages
    .slice(0, NAMED)
    .map(([message, { length }]) => (length === 1 ? message : `${message} × ${count(length)}`))
  const rest = messages.length - named.length
  return [...named, ...(rest > 0 ? [`${rest} more`] : [])].join(', ')
}
