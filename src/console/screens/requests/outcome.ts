import type { RequestEntry } from '../../api/types.ts'
import { html, type TemplateResult } from '../../kit/html.ts'
import { isRejected, OUTCOMES, outcomeOf } from './filters.ts'

/** The outcome as a word, with its status; colour only repeats it. */
export const outcomeBadge = (call: RequestEntry): TemplateResult => {
  const { status, outcome } = call
  const kind = isRejected(call)
    ? (status ?? 500) >= 500
      ? 'bad'
      : 'warn'
    : outcome === 'interrupted'
      ? 'warn'
      : outcome === 'dry_run'
        ? ''
        : 'good'
  const text = OUTCOMES[outcomeOf(call)] ?? outcome
  return html`<span class=${`badge ${kind}`}>${text}${status === undefined || outcome === 'dry_run' ? '' : ` ${status}`}</span>`
}
