import type { RequestEntry } from '../../api/types.ts'

/** Filters of the list, with the names that they have in the hash. The API has none: they apply to the calls loaded. */
export const FILTERS = ['kind', 'outcome', 'application', 'host', 'status', 'text'] as const
export type RequestFilters = Readonly<Partial<Record<(typeof FILTERS)[number], string>>>

/** `rejected`: ended by Sidevault with an error; the others as the API names them. */
export const OUTCOMES: Readonly<Record<string, string>> = {
  rejected: 'Rejected',
  responded: 'Responded',
  forwarded: 'Forwarded',
  dry_run: 'Dry run',
  interrupted: 'Interrupted',
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

/** Whether Sidevault ended a call with an error. */
export const isRejected = ({ code, status, outcome }: RequestEntry): boolean =>
  code !== undefined || (outcome === 'responded' && status !== undefined && status >= 400)

export const outcomeOf = (call: RequestEntry): string => (isRejected(call) ? 'rejected' : call.outcome)

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
  if (filters.outcome !== undefined && outcomeOf(call) !== filters.outcome) return false
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
