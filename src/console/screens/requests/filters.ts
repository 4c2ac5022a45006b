import type { CallOptions } from '../../api/client.ts'
import { hashOf } from '../../router.ts'

/** Members of the hash, and of the query of `GET /requests`. */
export const FILTERS = [
  'kind',
  'outcome',
  'application',
  'host',
  'status',
  'trace_id',
  'start_date',
  'end_date',
  'console',
] as const
export type RequestFilter = (typeof FILTERS)[number] | 'sort'

/** `failed`: several of the others; `rejected` and `cut_off`: parts of others. */
export const OUTCOMES: Readonly<Record<string, string>> = {
  failed: 'Failed',
  rejected: 'Rejected',
  responded: 'Responded',
  sent: 'Sent, outcome unknown',
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

export const isFiltered = (members: URLSearchParams): boolean =>
  FILTERS.some((name) => members.get(name)?.trim())

/** The query of a hash. */
export const queryOf = (members: URLSearchParams): NonNullable<CallOptions['query']> =>
  Object.fromEntries([...FILTERS, 'sort'].map((name) => [name, members.get(name)?.trim()]))

/** The hash of the list with filters. */
export const requestsHash = (filters: Readonly<Partial<Record<RequestFilter, string>>>): string =>
  hashOf('/requests', filters)
