import {
  cursorQuery,
  invalid,
  PAGE_SIZE,
  type PluginContext,
  type RecentRequest,
  type Static,
  Type,
} from '#sdk'
import { timeRangeOf, timeRangeQuery } from './time-range.ts'

/** Maximum calls of a page, as of logs (completions §3). */
const MAX_REQUESTS = 1_000

type ListQuery = Parameters<PluginContext['requests']>[0]

/** Not longer: the processes of a node are asked with them in a URL. */
const text = (field: number, description: string) =>
  Type.Optional(Type.String({ field, description, maxLength: 255 }))

/** Members of a query of calls; empty texts filter nothing. */
export const RequestQuery = Type.Object({
  start: cursorQuery.start,
  size: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_REQUESTS, default: PAGE_SIZE.default, field: 2 }),
  ),
  id: text(3, 'Of one call.'),
  kind: Type.Optional(Type.Enum(['proxy', 'api', 'connect'], { field: 4 })),
  outcome: Type.Optional(
    Type.Enum(
      [
        ...['responded', 'sent', 'answered', 'not_sent', 'unknown', 'dry_run', 'opened', 'tunneled'],
        ...['failed', 'rejected', 'cut_off'],
      ] as const,
      {
        field: 5,
        description:
          'As calls have it, or `failed` (as their member), `rejected` (by Sidevault, with a 4xx or by the API) or `cut_off` (answered, but not to the end).',
      },
    ),
  ),
  application: text(6, 'Id of the application.'),
  host: text(7, 'The destination.'),
  status: text(8, '`404` or `4xx`; of the response, or of the destination.'),
  trace_id: text(9, 'All calls of a trace.'),
  ...timeRangeQuery(10, 'calls'),
  console: Type.Optional(
    Type.Boolean({
      field: 12,
      default: false,
      description: "True: also calls of the API that the console's own pages made.",
    }),
  ),
  sort: Type.Optional(
    Type.Enum(['newest', 'slowest'], {
      field: 13,
      default: 'newest',
      description: 'slowest: by `duration_ms`, the longest first.',
    }),
  ),
})

type Query = Static<typeof RequestQuery>

/** `404`: that status; `4xx`: its class. */
const statusRange = (status: string): readonly [from: number, to: number] => {
  const [, first, rest = ''] = /^([1-5])(\d\d|xx)$/i.exec(status) ?? []
  if (first === undefined)
    throw invalid({ status: ['must be a status, e.g. 404, or a class of them, e.g. 4xx'] })
  return /x/i.test(rest) ? [Number(`${first}00`), Number(`${first}99`)] : [Number(status), Number(status)]
}

/** The place behind a call in a list of this order. */
export const cursorOf = ({ at, durationMs, id }: RecentRequest, sort: ListQuery['sort']): string =>
  Buffer.from(`${sort === 'slowest' ? durationMs : at} ${id}`).toString('base64url')

const positionOf = (start: string): ListQuery['before'] => {
  const [, rank, id] = /^(\S+) (\S*)$/.exec(Buffer.from(start, 'base64url').toString()) ?? []
  if (id === undefined || !Number.isFinite(Number(rank)))
    throw invalid({ start: ['must be the "next" of an earlier page'] })
  return { rank: Number(rank), id }
}

/** What the processes are asked for, but the number of calls. Throws `invalid` at a member. */
export const listQueryOf = (query: Query): Omit<ListQuery, 'tenantId' | 'limit'> => ({
  id: query.id || undefined,
  sort: query.sort,
  before: query.start === undefined ? undefined : positionOf(query.start),
  filter: {
    kind: query.kind,
    outcome: query.outcome,
    applicationId: query.application || undefined,
    host: query.host?.toLowerCase() || undefined,
    status: query.status ? statusRange(query.status) : undefined,
    traceId: query.trace_id || undefined,
    console: query.console,
    ...timeRangeOf(query),
  },
})
