import {
  defineOperation,
  type LogFilter,
  type PageRequest,
  type PluginContext,
  type Static,
  Type,
} from '#sdk'
import * as examples from './examples.ts'
import { EntityTypes, LogList, LogQuery, logOutput, PAGE_SIZE } from './schemas.ts'
import { timeRangeOf } from './time-range.ts'

type Query = Static<typeof LogQuery>

/** Empty members filter nothing. */
const filterOf = (query: Query): LogFilter => {
  const { from, to } = timeRangeOf(query)
  return {
    ...(query.entity_type ? { entityType: query.entity_type } : {}),
    ...(query.entity_id ? { entityId: query.entity_id } : {}),
    ...(query.actor_id ? { actorId: query.actor_id } : {}),
    ...(query.operation ? { operation: query.operation } : {}),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  }
}

const pageOf = (query: Query): PageRequest => {
  const size = query.size ?? PAGE_SIZE.default
  if (query.start === undefined)
    return { kind: 'offset', page: Math.min(query.page ?? 1, Number.MAX_SAFE_INTEGER), size }
  return query.start === '' ? { kind: 'cursor', size } : { kind: 'cursor', start: query.start, size }
}

/** Calls on the audit log; reading it is not recorded. */
export const logOperations = (context: PluginContext) => [
  defineOperation({
    rpc: 'Logs.List',
    http: 'GET /logs',
    summary: 'List logs, newest first',
    permission: 'log:read',
    audit: 'none',
    input: LogQuery,
    output: LogList,
    examples: examples.list,
    run: async (query, { caller }) => {
      const page = pageOf(query)
      const { data, total, next } = await context.logs.list(caller.tenantId, filterOf(query), page)
      return {
        pagination: {
          ...(page.kind === 'offset' && total !== undefined
            ? { total_items: total, page_number: page.page, total_pages: Math.ceil(total / page.size) }
            : {}),
          page_size: page.size,
          ...(next === undefined ? {} : { next }),
        },
        data: data.map(logOutput),
      }
    },
  }),
  defineOperation({
    rpc: 'Logs.ListEntityTypes',
    http: 'GET /logs/entity-types',
    summary: 'List the entity types that logs are about',
    permission: 'log:read',
    audit: 'none',
    input: Type.Object({}),
    output: EntityTypes,
    responseBody: 'entity_types',
    examples: examples.entityTypes,
    run: async () => ({ entity_types: context.entityTypes().map((type) => ({ ...type })) }),
  }),
]
