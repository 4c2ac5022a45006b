import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Dialect } from '../dialect.ts'
import type { TokenTimesTable } from '../schema.ts'
import type { SearchNode } from '../types.ts'

/**
 * Widths (ms) of the buckets that tokens are counted in, finest first: each holds 1,000 of the one before, from a tenth
 * of a second to 28 hours. What was created in any range of times is a few sums of at most 2,000 buckets, and a look at
 * the rows of the two tenths of a second in which a range may begin and end.
 */
export const LEVELS = [100, 100_000, 100_000_000] as const

const FINEST = LEVELS[0]
const TOP = LEVELS.length - 1
const FAN_OUT = LEVELS[1] / LEVELS[0]
/** Past every time that a token can have. */
const END = 8_640_000_000_000_000

export type TimeEvent = TokenTimesTable['event']

/** From `from` on, before `to`; ms, whole numbers. */
export interface TimeRange {
  readonly event: TimeEvent
  readonly from: number
  readonly to: number
}

/** Buckets of one level, `to` not among them. */
interface Run {
  readonly level: number
  readonly from: number
  readonly to: number
}

export const bucketOf = (level: number, at: number): number => Math.floor(at / (LEVELS[level] as number))

const EVENTS: Readonly<Record<string, TimeEvent>> = { created_at: 'created', modified_at: 'modified' }

/** The range of times that a node asks for; undefined when it asks for something else. */
export const timeRangeOf = (node: SearchNode): TimeRange | undefined => {
  const event = node.kind === 'range' ? EVENTS[node.field] : undefined
  if (node.kind !== 'range' || event === undefined || !(node.from || node.to)) return undefined
  const { from, to } = node
  if (typeof (from?.value ?? 0) !== 'number' || typeof (to?.value ?? 0) !== 'number') return undefined
  const start = Number(from?.value ?? 0)
  const end = Number(to?.value ?? END)
  return {
    event,
    from: Math.max(0, from?.inclusive === false ? Math.floor(start) + 1 : Math.ceil(start)),
    to: Math.min(END, to?.inclusive ? Math.floor(end) + 1 : Math.ceil(end)),
  }
}

export const intersect = (a: TimeRange, b: TimeRange): TimeRange => ({
  event: a.event,
  from: Math.max(a.from, b.from),
  to: Math.min(a.to, b.to),
})

/** The fewest buckets that make up those from `from` up to `to` of a level. */
const runsOf = (from: number, to: number, level = 0): readonly Run[] => {
  if (from >= to) return []
  const up = Math.ceil(from / FAN_OUT)
  const down = Math.floor(to / FAN_OUT)
  if (level === TOP || up >= down) return [{ level, from, to }]
  return [
    { level, from, to: up * FAN_OUT },
    ...runsOf(up, down, level + 1),
    { level, from: down * FAN_OUT, to },
  ].filter((run) => run.from < run.to)
}

interface Counted {
  readonly dialect: Dialect
  readonly tenantId: string
  /** On container and type. */
  readonly groups: RawBuilder<SqlBool>
}

const buckets = ({ dialect, tenantId, groups }: Counted, event: TimeEvent, { level, from, to }: Run) =>
  dialect.builder
    .selectFrom('token_times')
    .where('tenant_id', '=', tenantId)
    .where('event', '=', event)
    .where('level', '=', level)
    .where('bucket', '>=', from)
    .where('bucket', '<', to)
    .where(groups)

const sum = (parts: readonly RawBuilder<number>[]): RawBuilder<number> =>
  parts.length === 0 ? sql`0` : sql`(${sql.join(parts, sql` + `)})`

/** Rows of a range that lies within one finest bucket. */
const rowsIn = (
  { dialect, tenantId }: Counted,
  { event, from, to }: TimeRange,
  groups: RawBuilder<SqlBool>,
): RawBuilder<number> => {
  const at = event === 'created' ? ('created_at' as const) : ('modified_at' as const)
  const rows = dialect.builder
    .selectFrom('tokens')
    .where('tenant_id', '=', tenantId)
    .where(at, '>=', from)
    .where(at, '<', to)
    .where(groups)
    .select(sql<number>`count(*)`.as('count'))
  if (event === 'modified') return sql`(${rows})`
  const bucket = bucketOf(0, from)
  const inBucket = { level: 0, from: bucket, to: bucket + 1 }
  const all = { dialect, tenantId, groups: sql<SqlBool>`1 = 1` }
  const bound = (expression: RawBuilder<number>) =>
    buckets(all, event, inBucket).select(expression.as('bound'))
  return sql`(${rows
    .where(sql<SqlBool>`seq >= (${bound(sql`min(first_seq)`)})`)
    .where(sql<SqlBool>`seq <= (${bound(sql`max(last_seq)`)})`)})`
}

/**
 * How many token rows the range holds, as an expression. `ordered`: the condition on groups for rows of `tokens`, for
 * which no index is to be picked.
 */
export const countInRange = (
  counted: Counted,
  range: TimeRange,
  ordered: RawBuilder<SqlBool>,
): RawBuilder<number> => {
  const { event, from, to } = range
  if (from >= to) return sql`0`
  const first = Math.ceil(from / FINEST)
  const last = Math.floor(to / FINEST)
  if (first > last) return rowsIn(counted, range, ordered)
  const edges = [
    { event, from, to: first * FINEST },
    { event, from: last * FINEST, to },
  ].filter((edge) => edge.from < edge.to)
  return sum([
    ...runsOf(first, last).map(
      (run): RawBuilder<number> =>
        sql`coalesce((${buckets(counted, event, run).select(sql<number>`sum(count)`.as('count'))}), 0)`,
    ),
    ...edges.map((edge) => rowsIn(counted, edge, ordered)),
  ])
}

/** Between which numbers the tokens of a range lie at most; nulls when there are none. */
export const placesOf = (counted: Counted, { event, from, to }: TimeRange) => {
  const [run, ...others] = runsOf(bucketOf(0, from), Math.ceil(to / FINEST)).map((run) =>
    buckets(counted, event, run).select([
      sql<number | null>`min(first_seq)`.as('first'),
      sql<number | null>`max(last_seq)`.as('last'),
    ]),
  )
  if (run === undefined) throw new Error('a range without buckets')
  const runs = others.reduce((all, other) => all.unionAll(other), run)
  return counted.dialect.builder
    .selectFrom(runs.as('runs'))
    .select([sql<number | null>`min(first)`.as('first'), sql<number | null>`max(last)`.as('last')])
}
