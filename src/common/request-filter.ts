/** The filters of `GET /requests` (completions §16), as each process applies them to its own calls. */
import type { ListedRequest } from './request-ring.ts'

/** Bounds of a status or a time. */
type Range = readonly [from: number, to: number]

/** Outcomes that are several of those that calls have, or a part of one. */
type OutcomeClass = 'failed' | 'rejected' | 'cut_off'

/** Members that are undefined filter nothing. */
export interface RequestFilter {
  readonly kind?: ListedRequest['kind'] | undefined
  readonly outcome?: ListedRequest['outcome'] | OutcomeClass | undefined
  readonly applicationId?: string | undefined
  readonly host?: string | undefined
  readonly traceId?: string | undefined
  /** Of the response, or of the destination's; both bounds included. */
  readonly status?: Range | undefined
  /** ms since the epoch, of `at`; `to` is excluded. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** The console's own calls, too. */
  readonly console?: boolean | undefined
}

type Ended = Pick<ListedRequest, 'outcome' | 'status' | 'complete'>

const CLASSES: Readonly<Record<OutcomeClass, (request: Ended) => boolean>> = {
  failed: (request) => hasFailed(request),
  rejected: ({ outcome, status }) =>
    outcome === 'responded' ? (status ?? 0) >= 400 : outcome === 'not_sent' && (status ?? 500) < 500,
  cut_off: ({ complete }) => complete === false,
}

/** Whether a call did not do what its caller wanted: rejected, not sent, without a complete response, or with a 5xx. */
export const hasFailed = (request: Ended): boolean =>
  ['not_sent', 'unknown'].includes(request.outcome) ||
  CLASSES.rejected(request) ||
  CLASSES.cut_off(request) ||
  (request.status ?? 0) >= 500

const isClass = (outcome: string): outcome is OutcomeClass => Object.hasOwn(CLASSES, outcome)

const isIn = ([from, to]: Range, status: number | undefined): boolean =>
  status !== undefined && status >= from && status <= to

/** Whether a call passes all members of a filter. */
export const matchesFilter = (request: ListedRequest, filter: RequestFilter): boolean => {
  const { kind, outcome, applicationId, host, traceId, status, from, to } = filter
  const { at } = request
  return (
    (request.isConsole !== true || filter.console === true) &&
    (kind === undefined || request.kind === kind) &&
    (outcome === undefined || (isClass(outcome) ? CLASSES[outcome](request) : request.outcome === outcome)) &&
    (applicationId === undefined || request.applicationId === applicationId) &&
    (host === undefined || request.host === host) &&
    (traceId === undefined || request.traceId === traceId) &&
    (status === undefined || isIn(status, request.status) || isIn(status, request.destinationStatus)) &&
    (from === undefined || at >= from) &&
    (to === undefined || at < to)
  )
}
