import { field } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { EXPIRIES, type Filters, metadataOf } from './query.ts'

export interface FilterOptions {
  readonly filters: Filters
  readonly types: readonly string[]
  /** Keys that may not search have no filter by expiry. */
  readonly isSearching: boolean
  change(changes: Partial<Filters>): void
  /** Absent: nothing is filtered. */
  readonly clear: (() => void) | undefined
}

const valueIn = (event: Event): string => (event.target as HTMLInputElement | HTMLSelectElement).value.trim()

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
        @change=${(event: Event) => change({ [name]: valueIn(event) })}
      />`,
    })
  const choice = (
    name: 'type' | 'expiry',
    label: string,
    options: readonly (readonly [value: string, text: string])[],
  ) =>
    field({
      label,
      control: html`<select @change=${(event: Event) => change({ [name]: valueIn(event) })}>
        ${options.map(([value, shown]) => html`<option value=${value} .selected=${value === filters[name]}>${shown}</option>`)}
      </select>`,
    })
  const isWrong = filters.metadata !== '' && metadataOf(filters.metadata) === undefined
  return html`<div class="filters token-filters" role="group" aria-label="Filters">
    ${choice('type', 'Type', [['', 'Any type'], ...types.map((type) => [type, type] as const)])}
    ${text('container', 'Container', '/pci/high/')}
    ${text('metadata', 'Metadata', 'order=7', isWrong ? 'Write key=value, or a key.' : undefined)}
    ${isSearching ? choice('expiry', 'Expiry', [['', 'Any expiry'], ...Object.entries(EXPIRIES)]) : nothing}
    ${clear === undefined ? nothing : html`<button type="button" @click=${clear}>Clear</button>`}
  </div>`
}
