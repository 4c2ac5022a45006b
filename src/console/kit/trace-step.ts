import { html, nothing, type TemplateResult } from './html.ts'

interface TraceStep {
  readonly title: string
  readonly state: 'done' | 'failed' | 'open' | 'skipped'
  /** Its outcome, with the class of the badge. */
  readonly badge?: readonly [kind: 'good' | 'bad' | '', text: string]
  /** `0.27 ms`, or `''`. */
  readonly time: string
  readonly body: TemplateResult
}

/** A step of what became, or would become, of a call: an item of `<ol class="steps">`. */
export const traceStep = ({
  title,
  state,
  badge,
  time,
  body,
}: TraceStep): TemplateResult => html`<li class=${state}>
  <h3>${title}${badge === undefined ? nothing : html` <span class="badge ${badge[0]}">${badge[1]}</span>`}</h3>
  <span class="number soft">${time}</span>
  ${body}
</li>`
