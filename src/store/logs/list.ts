import { type SqlBool, sql } from 'kysely'
import type { Session } from '../session.ts'
import { LIST_COLUMNS } from './statements.ts'
import type { LogFilter, LogListQuery, LogListRow } from './types.ts'

/** Later than any record. */
const END = 8_640_000_000_000_000

const matching = ({ dialect }: Session, filter: LogFilter) => {
  const { tenantId, entityType, entityId, actorId, operation, from, to } = filter
  let logs = dialect.builder.selectFrom('logs').where('tenant_id', '=', tenantId)
  if (entityId !== undefined) {
    logs = logs.where('entity_id', '=', entityId)
    // The entity selects fewer rows than its type.
    if (entityType !== undefined)
      logs = logs.where(sql<SqlBool>`${dialect.unindexed('entity_type')} = ${entityType}`)
  } else if (entityType !== undefined) logs = logs.where('entity_type', '=', entityType)
  if (actorId !== undefined) logs = logs.where('actor_id', '=', actorId)
  if (operation !== undefined) logs = logs.where('operation', '=', operation)
  if (from !== undefined) logs = logs.where('created_at', '>=', from)
  return to === undefined ? logs : logs.where('created_at', '<', to)
}

/** Newest first. */
export const listLogs = async (session: Session, query: LogListQuery): Promise<readonly LogListRow[]> => {
  const { offset, after } = query
  const { to = END, ...unended } = query
  const page =
    after === undefined
      ? matching(session, query)
      : // One upper bound only: with two, SQLite uses the index of all logs of the tenant.
        matching(session, after.created_at < to ? unended : query).where(
          sql<SqlBool>`(created_at, seq) < (${after.created_at}, ${after.seq})`,
        )
  const rows = page
    .orderBy('created_at', 'desc')
    .orderBy('seq', 'desc')
    .select([...LIST_COLUMNS])
    .limit(query.size)
  return session.search(offset ? rows.offset(offset) : rows, query.tenantId)
}

/** Number of logs in a list, counted by index entries. */
export const countLogs = async (session: Session, filter: LogFilter): Promise<number> => {
  const [row] = await session.search(
    matching(session, filter).select(sql<number>`count(*)`.as('total')),
    filter.tenantId,
  )
  return Number(row?.total ?? 0)
}
