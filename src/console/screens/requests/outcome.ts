import type { RequestEntry } from '../../api/types.ts'
import { html, type TemplateResult } from '../../kit/html.ts'
import { OUTCOMES } from './filters.ts'

/** A key of `OUTCOMES`. */
export const outcomeOf = ({ outcome, status = 500, failed, response_complete }: RequestEntry): string => {
  if (response_complete === false) return 'cut_off'
  return failed && (outcome === 'responded' || (outcome === 'not_sent' && status < 500))
    ? 'rejected'
    : outcome
}

/** Class of the badge: none until it is known how the call ended. */
const badgeKind = (call: RequestEntry): '' | 'good' | 'warn' | 'bad' => {
  const { status, outcome, failed } = call
  if (failed) return outcomeOf(call) === 'rejected' && (status ?? 500) < 500 ? 'warn' : 'bad'
  if (status === undefined || outcome === 'dry_run') return ''
  return status >= 400 ? 'warn' : 'good'
}

/** The outcome as a word, with its status; colour only repeats it. */
export const outcomeBadge = (call: RequestEntry): TemplateResult => {
  const { status, outcome } = call
  const text = OUTCOMES[outcomeOf(call)] ?? outcome
  return html`<span class=${`badge ${badgeKind(call)}`}>${text}${status === undefined || outcome === 'dry_run' ? '' : ` ${status}`}</span>`
}
