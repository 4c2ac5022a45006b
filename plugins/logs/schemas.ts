import { isoTime, type LogEntry, listOf, offsetQuery, type Static, Type } from '#sdk'
import { timeRangeQuery } from './time-range.ts'

/** Rows of a page of logs (completions §3). */
export const PAGE_SIZE = { default: 20, maximum: 1_000 } as const

/** Paged by `page`, or by `start`, the `next` of the page before; with both, by `start`. */
export const LogQuery = Type.Object({
  page: offsetQuery.page,
  size: Type.Optional(
    Type.Integer({ minimum: 1, maximum: PAGE_SIZE.maximum, default: PAGE_SIZE.default, field: 2 }),
  ),
  entity_type: Type.Optional(Type.String({ field: 3 })),
  entity_id: Type.Optional(Type.String({ field: 4 })),
  ...timeRangeQuery(5, 'logs created'),
  start: Type.Optional(
    Type.String({
      maxLength: 500,
      description:
        'The `next` of the page before. Empty: the first page of a cursor list, where nothing is counted.',
      field: 7,
    }),
  ),
  actor_id: Type.Optional(Type.String({ maxLength: 400, field: 8 })),
  operation: Type.Optional(
    Type.String({ pattern: '^[a-z_]{0,50}$', description: 'E.g. read, use, delete.', field: 9 }),
  ),
})

/** The interface's Log. */
const LogOutput = Type.Object(
  {
    tenant_id: Type.String({ field: 1 }),
    actor_id: Type.Optional(Type.String({ field: 2 })),
    actor_type: Type.Optional(Type.String({ field: 3 })),
    entity_type: Type.String({ field: 4 }),
    entity_id: Type.String({ field: 5 }),
    operation: Type.String({ field: 6 }),
    message: Type.String({ field: 7 }),
    created_at: Type.String({ format: 'date-time', field: 8 }),
    surfaces: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'Of the use of a token by a proxied request: the places that its value was put into, e.g. `body` and `header:authorization`.',
        field: 9,
      }),
    ),
    trace_id: Type.Optional(
      Type.String({ field: 10, description: 'Of the call. Records of one call share it.' }),
    ),
    disclosure: Type.Optional(
      Type.Enum(['redact', 'mask', 'reveal', 'match'], {
        field: 11,
        description:
          'Of a token that was read or used: by its rule; match: that a search by data finds it. Absent from records of earlier versions.',
      }),
    ),
    labels: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        field: 12,
        description: 'Of a record with the operation check: the labels that a plugin gave the call.',
      }),
    ),
  },
  { title: 'Log' },
)

export const LogList = listOf(LogOutput)

export const EntityTypes = Type.Object({
  entity_types: Type.Array(
    Type.Object(
      {
        display_name: Type.String({ field: 1 }),
        value: Type.String({ field: 2 }),
      },
      { title: 'EntityType' },
    ),
    { field: 1 },
  ),
})

/** A log as the API shows it. */
export const logOutput = (log: LogEntry): Static<typeof LogOutput> => ({
  tenant_id: log.tenant_id,
  ...(log.actor_id === null ? {} : { actor_id: log.actor_id }),
  ...(log.actor_type === null ? {} : { actor_type: log.actor_type }),
  entity_type: log.entity_type,
  entity_id: log.entity_id,
  operation: log.operation,
  message: log.message,
  created_at: isoTime(log.created_at),
  ...(log.surfaces === undefined ? {} : { surfaces: [...log.surfaces] }),
  ...(log.trace_id === '' ? {} : { trace_id: log.trace_id }),
  ...(log.disclosure === undefined ? {} : { disclosure: log.disclosure }),
  ...(log.labels === undefined ? {} : { labels: { ...log.labels } }),
})
