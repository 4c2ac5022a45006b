import { choiceField, field, valueIn } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { EXPIRIES, type Filters, metadataOf } from './query.ts'

interface FilterOptions {
  readonly filters: Filters
  readonly types: readonly string[]
  /** Keys that may not search have no filter by expiry. */
  readonly isSearching: boolean
  change(changes: Partial<Filters>): void
  /** Absent: nothing is filtered. */
  readonly clear: (() => void) | undefined
}

/** Filters besides the query. Each change loads the list. */
export const filterRow = ({ filters, types, isSearching, change, clear }: FilterOptions): TemplateResult => {
  const text = (name: 'container' | 'metadata', label: string, placeholder: string, error?: string) =>
    field({
      label,
      error,
      control: html`<input
        placeholder=${placeholder}
        spellcheck="false"
        autocapitalize="off"
        .value=${filters[name]}
        @change=${(event: Event) => change({ [name]: valueIn(event).trim() })}
      />`,
    })
  const choice = (
    name: 'type' | 'expiry',
    label: string,
    choices: readonly (readonly [value: string, text: string])[],
  ) => choiceField({ label, value: filters[name], choices, set: (value) => change({ [name]: value }) })
  const isWrong = filters.metadata !== '' && metadataOf(filters.metadata) === undefined
  return html`<div class="filters token-filters" role="group" aria-label="Filters">
    ${choice('type', 'Type', [['', 'Any type'], ...types.map((type) => [type, type] as const)])}
    ${text('container', 'Container', '/pci/high/')}
    ${text('metadata', 'Metadata', 'order=7', isWrong ? 'Write key=value, or a key.' : undefined)}
    ${isSearching ? choice('expiry', 'Expiry', [['', 'Any expiry'], ...Object.entries(EXPIRIES)]) : nothing}
    ${clear === undefined ? nothing : html`<button type="button" @click=${clear}>Clear</button>`}
  </div>`
}
