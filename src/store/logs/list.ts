import { type SqlBool, sql } from 'kysely'
import type { Session } from '../session.ts'
import { inEachRun, inNewestRuns } from './entity-runs.ts'
import { LIST_COLUMNS } from './statements.ts'
import type { LogFilter, LogListQuery, LogListRow } from './types.ts'

/** Later than any record. */
const END = 8_640_000_000_000_000

const allLogs = ({ dialect }: Session) => dialect.builder.selectFrom('logs')
type Logs = ReturnType<typeof allLogs>

const matching = ({ dialect }: Session, filter: LogFilter, base: Logs) => {
  const { tenantId, entityType, entityId, actorId, operation, from, to } = filter
  let logs = base.where('tenant_id', '=', tenantId)
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

/** True when the index by entity has runs. */
const hasRuns = ({ dialect }: Session, { entityId }: LogFilter): boolean =>
  entityId !== undefined && dialect.engine === 'sqlite'

/** Newest first. */
export const listLogs = async (session: Session, query: LogListQuery): Promise<readonly LogListRow[]> => {
  const { offset = 0, after, size } = query
  const { to = END, ...unended } = query
  const filtered = (base: Logs): Logs =>
    after === undefined
      ? matching(session, query, base)
      : // One upper bound only: with two, SQLite uses the index of all logs of the tenant.
        matching(session, after.created_at < to ? unended : query, base).where(
          sql<SqlBool>`(created_at, seq) < (${after.created_at}, ${after.seq})`,
        )
  const ordered = (logs: Logs): Logs => logs.orderBy('created_at', 'desc').orderBy('seq', 'desc')
  const page = (logs: Logs): Logs => {
    const rows = ordered(logs).limit(size)
    return offset > 0 ? rows.offset(offset) : rows
  }
  const rows = hasRuns(session, query)
    ? // Sorts index entries, then reads the rows of the page.
      ordered(
        allLogs(session).where('seq', 'in', () =>
          page(inNewestRuns(session, size + offset, filtered)).select('seq'),
        ),
      )
    : page(filtered(allLogs(session)))
  return session.search(rows.select([...LIST_COLUMNS]), query.tenantId)
}

/** Number of logs in a list, counted by index entries. */
export const countLogs = async (session: Session, filter: LogFilter): Promise<number> => {
  const base = hasRuns(session, filter) ? inEachRun(session) : allLogs(session)
  const [row] = await session.search(
    matching(session, filter, base).select(sql<number>`count(*)`.as('total')),
    filter.tenantId,
  )
  return Number(row?.total ?? 0)
}
