/** The newest calls of a process, in memory (completions §16). They never hold a body, a query or a header's value. */
import { hasFailed, matchesFilter, type RequestFilter } from './request-filter.ts'

/** Calls that a process retains. */
const RETAINED = 10_000

/** A rule, or a plain permission, that decided about tokens of a call. */
export interface AppliedRule {
  readonly permission: string
  /** Disclosure of the tokens; `none`: the call was denied. */
  readonly disclosure: 'redact' | 'mask' | 'reveal' | 'none'
  /**
   * Description of the deciding rule; `priority` and `container` are the rule's, too. Undefined: a plain permission
   * decided.
   */
  readonly description: string | undefined
  readonly priority: number | undefined
  readonly container: string | undefined
  readonly tokens: number
}

/**
 * `responded`: a call of the API. `sent`: it was forwarded, and its end is not known yet. `answered`, `not_sent`,
 * `unknown`: what became of a proxied call (completions §7). `opened`, `tunneled`: a CONNECT.
 */
type RequestOutcome =
  | 'responded'
  | 'sent'
  | 'answered'
  | 'not_sent'
  | 'unknown'
  | 'dry_run'
  | 'opened'
  | 'tunneled'

/** A call; times in ms. */
export interface ListedRequest {
  readonly traceId: string
  /** Time since the epoch: when it was forwarded, or ended before that. */
  readonly at: number
  readonly kind: 'proxy' | 'api' | 'connect'
  readonly tenantId: string
  readonly applicationId: string | undefined
  readonly proxyId: string | undefined
  readonly method: string
  /** A template or a fixed name, never a path that was called. */
  readonly route: string
  /** The destination. */
  readonly host: string | undefined
  readonly outcome: RequestOutcome
  /** Whether the destination's response reached the caller to its end. Undefined: there is none, or it is not known. */
  readonly complete?: boolean | undefined
  /** Status of the response. Undefined: there was none, or it is not known yet. */
  readonly status: number | undefined
  readonly destinationStatus: number | undefined
  readonly code: string | undefined
  /** Envoy's details and flags of the end of a proxied call. */
  readonly details?: string
  readonly flags?: string
  /** What the response guard found: `clean`, `replaced=2`, `blocked`, `unreadable`. Undefined: it did not look. */
  readonly guard?: string | undefined
  /** Until it was forwarded, or had its response from this process. */
  readonly durationMs: number
  /** Until the last byte of the response. Undefined: not a proxied call, or not known. */
  readonly totalMs?: number
  readonly stages: Readonly<Record<string, number>>
  readonly tokens: number
  /** Rules that decided about its tokens. */
  readonly rules: readonly AppliedRule[]
  readonly requestBytes: number | undefined
  readonly responseBytes: number | undefined
  /** A call of the API that a page of the console made. */
  readonly isConsole?: boolean
}

export interface RecentRequest extends ListedRequest {
  /** Unique among the processes of a node. */
  readonly id: string
  readonly failed: boolean
  /** Name of the process. */
  readonly node: string
}

/** Order of a list: by time, or by duration. */
type RequestOrder = 'newest' | 'slowest'

/** Place in a list: `rank` is what its order goes by, the highest first. */
interface RequestPosition {
  readonly rank: number
  readonly id: string
}

interface RequestQuery {
  readonly tenantId: string
  readonly filter?: RequestFilter
  /** The call of this id alone. */
  readonly id?: string | undefined
  /** Default `newest`. */
  readonly sort?: RequestOrder | undefined
  /** Only calls behind this position. */
  readonly before?: RequestPosition | undefined
  readonly limit: number
}

/** Calls of a tenant that are retained, in order. */
export type ListRequests = (query: RequestQuery) => Promise<readonly RecentRequest[]>

/** What an order goes by. */
const rankOf = (
  { at, durationMs }: Pick<ListedRequest, 'at' | 'durationMs'>,
  sort: RequestOrder = 'newest',
): number => (sort === 'slowest' ? durationMs : at)

/** Highest rank first; ids of one rank in a fixed order. */
const byPosition = (a: RequestPosition, b: RequestPosition): number => {
  if (a.rank !== b.rank) return b.rank - a.rank
  if (a.id === b.id) return 0
  return a.id < b.id ? 1 : -1
}

/** The first calls of the lists of several processes. */
export const mergeRequests = (
  lists: readonly (readonly RecentRequest[])[],
  { sort, limit }: Pick<RequestQuery, 'sort' | 'limit'>,
): readonly RecentRequest[] =>
  lists
    .flat()
    .map((request) => ({ request, rank: rankOf(request, sort), id: request.id }))
    .sort(byPosition)
    .slice(0, limit)
    .map(({ request }) => request)

/** `node`: the name of the process. `size`: calls that are retained. */
export const createRequestRing = (node: string, size = RETAINED) => {
  const ring: ListedRequest[] = []
  /** Unique among the runs of the process. */
  const run = Date.now().toString(36)
  let pushed = 0
  let newestAt = 0
  const idOf = (number: number): string => `${node}-${run}-${String(number).padStart(12, '0')}`

  return {
    /**
     * Adds a call, and drops the oldest one of a full ring. Calls without a tenant are not added. Returns its row, into
     * which may be put what becomes known later.
     */
    push: (request: ListedRequest): ListedRequest => {
      if (request.tenantId === '') return request
      // The clock may have been set back: the order of the ring is that of the list.
      newestAt = Math.max(newestAt, request.at)
      const row = request.at === newestAt ? request : { ...request, at: newestAt }
      ring[pushed % size] = row
      pushed++
      return row
    },

    list: ({ tenantId, filter = {}, id, sort, before, limit }: RequestQuery): readonly RecentRequest[] => {
      const rows: (RequestPosition & { readonly request: ListedRequest })[] = []
      const oldest = Math.max(0, pushed - size)
      for (let number = pushed - 1; number >= oldest; number--) {
        const request = ring[number % size]
        if (request?.tenantId !== tenantId || !matchesFilter(request, filter)) continue
        const row = { request, rank: rankOf(request, sort), id: idOf(number) }
        if (id !== undefined && row.id !== id) continue
        if (before !== undefined && byPosition(before, row) >= 0) continue
        rows.push(row)
        // The ring is in the order of time.
        if (sort !== 'slowest' && rows.length === limit) break
      }
      if (sort === 'slowest') rows.sort(byPosition)
      return rows
        .slice(0, limit)
        .map(({ request, id }) => ({ ...request, id, node, failed: hasFailed(request) }))
    },
  }
}
