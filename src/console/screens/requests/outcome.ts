import type { RequestEntry } from '../../api/types.ts'
import { html, type TemplateResult } from '../../kit/html.ts'
import { hasFailed, OUTCOMES, outcomeOf } from './filters.ts'

/** Outcomes that are neither good nor bad. */
const NEUTRAL = ['sent', 'dry_run']

const kindOf = (call: RequestEntry): string => {
  const outcome = outcomeOf(call)
  if (NEUTRAL.includes(outcome)) return ''
  if (hasFailed(call)) return outcome === 'rejected' && (call.status ?? 500) < 500 ? 'warn' : 'bad'
  return (call.status ?? 0) >= 400 ? 'warn' : 'good'
}

/** The outcome as a word, with its status; colour only repeats it. */
export const outcomeBadge = (call: RequestEntry): TemplateResult => {
  const { status, outcome } = call
  const text = OUTCOMES[outcomeOf(call)] ?? outcome
  return html`<span class=${`badge ${kindOf(call)}`}>${text}${status === undefined || outcome === 'dry_run' ? '' : ` ${status}`}</span>`
}
