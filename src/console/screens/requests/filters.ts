import type { RequestEntry } from '../../api/types.ts'

/** Filters of the list, with the names that they have in the hash. The API has none: they apply to the calls loaded. */
export const FILTERS = ['kind', 'outcome', 'application', 'host', 'status', 'text'] as const
export type RequestFilters = Readonly<Partial<Record<(typeof FILTERS)[number], string>>>

/** `failed`: several of the others; `rejected`: denied by Sidevault; the others as the API names them. */
export const OUTCOMES: Readonly<Record<string, string>> = {
  failed: 'Failed',
  rejected: 'Rejected',
  responded: 'Responded',
  sent: 'Sent, outcome unknown yet',
  answered: 'Answered',
  cut_off: 'Cut off',
  not_sent: 'Not sent',
  unknown: 'Outcome unknown',
  dry_run: 'Dry run',
  opened: 'Tunnel opened',
  tunneled: 'Tunneled',
}

export const KINDS: Readonly<Record<string, string>> = {
  proxy: 'Proxy',
  api: 'API',
  connect: 'Forward proxy',
}

export const filtersOf = (members: URLSearchParams): RequestFilters =>
  Object.fromEntries(
    FILTERS.flatMap((name) => {
      const value = members.get(name)?.trim()
      return value ? [[name, value] as const] : []
    }),
  )

/** A key of `OUTCOMES`. */
export const outcomeOf = ({ outcome, status, response_complete }: RequestEntry): string => {
  if (outcome === 'answered' && response_complete === false) return 'cut_off'
  const isDenied =
    outcome === 'responded' ? (status ?? 0) >= 400 : outcome === 'not_sent' && (status ?? 500) < 500
  return isDenied ? 'rejected' : outcome
}

/** Whether a call did not do what its caller wanted: denied, not sent, without a complete response, or with a 5xx. */
export const hasFailed = (call: RequestEntry): boolean =>
  ['rejected', 'not_sent', 'unknown', 'cut_off'].includes(outcomeOf(call)) || (call.status ?? 0) >= 500

/** `404`, `4xx`: of the response, or of the destination. */
const hasStatus = ({ status, destination_status }: RequestEntry, asked: string): boolean => {
  const pattern = asked.toLowerCase().replaceAll('x', '')
  return [status, destination_status].some(
    (status) => status !== undefined && String(status).startsWith(pattern) && pattern.length <= 3,
  )
}

const textsOf = (call: RequestEntry): readonly (string | undefined)[] => [
  call.route,
  call.method,
  call.host,
  call.trace_id,
  call.code,
  call.node,
  call.application?.name,
  call.application?.id,
  call.proxy?.name,
  call.proxy?.id,
]

/** Whether a call is in the list. All words of `text` have to be found, in any member. */
export const matchesFilters = (call: RequestEntry, filters: RequestFilters): boolean => {
  if (filters.kind !== undefined && call.kind !== filters.kind) return false
  if (
    filters.outcome === 'failed' ? !hasFailed(call) : filters.outcome && outcomeOf(call) !== filters.outcome
  )
    return false
  if (filters.application !== undefined && call.application?.id !== filters.application) return false
  if (filters.host !== undefined && call.host !== filters.host) return false
  if (filters.status !== undefined && !hasStatus(call, filters.status)) return false
  if (filters.text === undefined) return true
  const texts = textsOf(call).flatMap((text) => (text === undefined ? [] : [text.toLowerCase()]))
  return filters.text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => texts.some((text) => text.includes(word)))
}

/** `sort=slowest`: by duration; otherwise as loaded, newest first. */
export const sortCalls = (calls: readonly RequestEntry[], by: string | null): readonly RequestEntry[] =>
  by === 'slowest' ? calls.toSorted((a, b) => b.duration_ms - a.duration_ms) : calls
