import { type SqlBool, sql } from 'kysely'
import type { Session } from '../session.ts'
import type { LogFilter, LogListQuery, LogListRow } from '../types.ts'
import { busyOf } from './busy.ts'
import { bucketOf, LEVELS } from './levels.ts'

const COLUMNS = [
  'seq',
  'tenant_id',
  'entity_type',
  'entity_id',
  'operation',
  'actor_id',
  'actor_type',
  'message',
  'trace_id',
  'created_at',
] as const satisfies readonly (keyof LogListRow)[]

const TOP = LEVELS.length - 1
/** Buckets of one level in one of the next. */
const FAN_OUT = LEVELS[1] / LEVELS[0]
/** Past every time that a record can have. */
const END = 8_640_000_000_000_000

const matching = ({ dialect }: Session, { tenantId, entityType, entityId, from, to }: LogFilter) => {
  let logs = dialect.builder.selectFrom('logs').where('tenant_id', '=', tenantId)
  if (entityId !== undefined) {
    logs = logs.where('entity_id', '=', entityId)
    // The entity leads to fewer rows than its type.
    if (entityType !== undefined)
      logs = logs.where(sql<SqlBool>`${dialect.unindexed('entity_type')} = ${entityType}`)
  } else if (entityType !== undefined) logs = logs.where('entity_type', '=', entityType)
  if (from !== undefined) logs = logs.where('created_at', '>=', from)
  return to === undefined ? logs : logs.where('created_at', '<', to)
}

const counted = async (session: Session, filter: LogFilter): Promise<number> => {
  const [row] = await session.search(
    matching(session, filter).select(sql<number>`count(*)`.as('total')),
    filter.tenantId,
  )
  return Number(row?.total ?? 0)
}

const buckets = ({ dialect }: Session, { tenantId, entityType, entityId }: LogFilter, level: number) => {
  const all = dialect.builder
    .selectFrom('log_counts')
    .where('tenant_id', '=', tenantId)
    .where('level', '=', level)
    .where('entity_id', '=', entityId ?? '')
  return entityType === undefined ? all : all.where('entity_type', '=', entityType)
}

/** Whether buckets count the logs of the filter's tenant, type and entity. */
const isCounted = async (session: Session, { tenantId, entityId }: LogFilter): Promise<boolean> =>
  entityId === undefined || (await busyOf(session, tenantId, [entityId])).has(entityId)

/** How many logs of the filter's tenant, type and entity lie before `at`: whole buckets, coarse to fine, and the rest by rows. */
const before = async (session: Session, filter: LogFilter, at: number): Promise<number> => {
  let total = 0
  for (let level = TOP; level >= 0; level--) {
    const since = level === TOP ? 0 : bucketOf(level + 1, at) * FAN_OUT
    const [row] = await session.search(
      buckets(session, filter, level)
        .where('bucket', '>=', since)
        .where('bucket', '<', bucketOf(level, at))
        .select(sql<number>`coalesce(sum(count), 0)`.as('total')),
      filter.tenantId,
    )
    total += Number(row?.total ?? 0)
  }
  const from = bucketOf(0, at) * LEVELS[0]
  return total + (at > from ? await counted(session, { ...filter, from, to: at }) : 0)
}

/** The finest bucket that holds the log with `rank`, counted from the oldest (1), and its rank inside. */
const bucketWith = async (
  session: Session,
  filter: LogFilter,
  rank: number,
): Promise<{ readonly bucket: number; readonly rank: number } | undefined> => {
  let left = rank
  let bucket = 0
  for (let level = TOP; level >= 0; level--) {
    const all = buckets(session, filter, level)
    const inside =
      level === TOP
        ? all
        : all.where('bucket', '>=', bucket * FAN_OUT).where('bucket', '<', (bucket + 1) * FAN_OUT)
    const sums = await session.search(
      inside
        .groupBy('bucket')
        .orderBy('bucket')
        .select(['bucket', sql<number>`sum(count)`.as('count')]),
      filter.tenantId,
    )
    const found = sums.find(({ count }) => {
      if (left <= Number(count)) return true
      left -= Number(count)
      return false
    })
    if (found === undefined) return undefined
    bucket = Number(found.bucket)
  }
  return { bucket, rank: left }
}

/** The same list from `offset` on, as one that passes over the rows of a few seconds at most. */
const skipTo = async (
  session: Session,
  query: LogListQuery,
  offset: number,
): Promise<LogListQuery | undefined> => {
  const to = query.to ?? END
  const rank = (await before(session, query, to)) - offset
  if (rank <= 0) return undefined
  const found = await bucketWith(session, query, rank)
  if (found === undefined) return undefined
  const from = found.bucket * LEVELS[0]
  const until = Math.min(to, from + LEVELS[0])
  const inBucket = { ...query, from, to: until }
  return { ...query, to: until, offset: (await counted(session, inBucket)) - found.rank }
}

/** Newest first. */
export const listLogs = async (session: Session, query: LogListQuery): Promise<readonly LogListRow[]> => {
  const { offset = 0, after } = query
  const start = offset > 0 && (await isCounted(session, query)) ? await skipTo(session, query, offset) : query
  if (start === undefined) return []
  const { to = END, ...unended } = start
  const page =
    after === undefined
      ? matching(session, start)
      : // One upper bound only: with two, SQLite takes the index of all logs of a tenant for that of one entity's.
        matching(session, after.created_at < to ? unended : start).where(
          sql<SqlBool>`(created_at, seq) < (${after.created_at}, ${after.seq})`,
        )
  const rows = page
    .orderBy('created_at', 'desc')
    .orderBy('seq', 'desc')
    .select([...COLUMNS])
    .limit(query.size)
  return session.search(start.offset ? rows.offset(start.offset) : rows, query.tenantId)
}

/** How many logs a list has in all; by the counts, unless an entity is named that has few. */
export const countLogs = async (session: Session, filter: LogFilter): Promise<number> => {
  if (!(await isCounted(session, filter))) return counted(session, filter)
  const { from, to } = filter
  const upTo = await before(session, filter, to ?? END)
  return Math.max(0, upTo - (from === undefined ? 0 : await before(session, filter, from)))
}
