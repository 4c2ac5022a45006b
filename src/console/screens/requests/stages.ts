import type { RequestEntry } from '../../api/types.ts'
import { html, svg, type TemplateResult } from '../../kit/html.ts'
import { milliseconds } from '../../kit/numbers.ts'

/** Stages in the order in which a call passes them. */
export const STAGES: Readonly<Record<string, string>> = {
  authenticate: 'Authenticate',
  validate: 'Validate',
  plan: 'Find tokens',
  use: 'Open tokens',
  run: 'Run',
  apply: 'Replace expressions',
  transform: 'Transform',
  audit: 'Audit',
}

interface Stage {
  readonly name: string
  readonly label: string
  readonly ms: number
}

/** Stages of a call in their order; `other`: what none of them measures. */
export const stagesOf = ({ stages, duration_ms }: RequestEntry): readonly Stage[] => {
  const order = Object.keys(STAGES)
  const known = Object.entries(stages)
    .map(([name, ms]) => ({ name, label: STAGES[name] ?? name, ms }))
    .sort((a, b) => ((order.indexOf(a.name) + 99) % 99) - ((order.indexOf(b.name) + 99) % 99))
  const other = duration_ms - known.reduce((sum, { ms }) => sum + ms, 0)
  return other > 0.001 ? [...known, { name: 'other', label: 'Other', ms: other }] : known
}

/** A bar with a part for each stage. `most`: ms of the complete width. */
export const stageBar = (call: RequestEntry, most: number): TemplateResult => {
  const stages = stagesOf(call)
  const scale = most > 0 ? 100 / most : 0
  let from = 0
  const parts = stages.map(({ name, ms }) => {
    const x = from
    from += ms * scale
    return svg`<rect class=${`stage-${name}`} x=${x} width=${Math.max(0.4, ms * scale - 0.4)} height="8" />`
  })
  const text = stages.map(({ label, ms }) => `${label} ${milliseconds(ms)}`).join(', ')
  return html`<span class="stages" title=${text}
    ><svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">${parts}</svg></span
  >`
}
