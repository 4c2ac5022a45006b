import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { type Effect, type Sentence, summaryOf } from './difference.ts'

const BADGES: Readonly<Record<Effect, string>> = {
  reveals: '▲ Reveal',
  loses: '▼ Loss',
  gains: '+ Gain',
  changes: '• Change',
}

/** Sentences that are shown at once; others are behind a summary. */
const SHOWN = 12

const item = ({ effect, parts }: Sentence): TemplateResult => html`<li class=${`sentence ${effect}`}>
  <span class="effect">${BADGES[effect]}</span>
  <span>${parts.map((part) => (typeof part === 'string' ? part : html`<strong>${part.strong}</strong>`))}</span>
</li>`

/** A list of differences; each is marked by a word, not by its colour alone. */
export const sentenceList = (sentences: readonly Sentence[]): TemplateResult => {
  const rest = sentences.slice(SHOWN)
  return html`<ul class="sentences">
      ${sentences.slice(0, SHOWN).map(item)}
    </ul>
    ${
      rest.length === 0
        ? nothing
        : html`<details>
            <summary>${rest.length} more</summary>
            <ul class="sentences">${rest.map(item)}</ul>
          </details>`
    }`
}

export interface Differences {
  /** On tokens, by the API. */
  readonly access: readonly Sentence[]
  /** Others. */
  readonly changes: readonly Sentence[]
  /** Further containers may differ. */
  readonly more: boolean
  /** Of a management application, which sees no token. */
  readonly isManagement: boolean
}

export const differences = ({ access, changes, more, isManagement }: Differences): TemplateResult => html`
  ${isManagement ? nothing : html`<h3>On tokens</h3>`}
  ${
    access.length > 0
      ? html`<p role="status"><strong>${summaryOf(access)}</strong></p>
          ${sentenceList(access)}`
      : isManagement
        ? nothing
        : html`<p class="soft" role="status">Every token that exists is seen as before.</p>`
  }
  ${more ? html`<p>More containers may differ: the comparison ended after 1,000 lines or 200,000 tokens.</p>` : nothing}
  ${
    changes.length === 0
      ? nothing
      : html`<h3>${isManagement ? 'Changes' : 'Other changes'}</h3>
          ${sentenceList(changes)}`
  }
`
