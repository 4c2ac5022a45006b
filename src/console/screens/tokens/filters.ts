import { choiceField, field, valueIn } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { EXPIRIES, type Filters, metadataOf, NO_FILTERS } from './query.ts'

/** Filters besides the query. Each change loads the list. Keys that may not search have none by expiry. */
export const filterRow = (
  filters: Filters,
  types: readonly string[],
  isSearching: boolean,
  change: (changes: Partial<Filters>) => void,
): TemplateResult => {
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
  const choice = (name: 'type' | 'expiry', label: string, choices: readonly (readonly [string, string])[]) =>
    choiceField({
      label,
      value: filters[name],
      choices: [['', `Any ${name}`], ...choices],
      set: (value) => change({ [name]: value }),
    })
  const isWrong = filters.metadata !== '' && metadataOf(filters.metadata) === undefined
  const expiries = Object.entries(EXPIRIES).map(([name, [label]]) => [name, label] as const)
  return html`<div class="filters token-filters" role="group" aria-label="Filters">
    ${choice(
      'type',
      'Type',
      types.map((type) => [type, type]),
    )}
    ${text('container', 'Container', '/pci/high/')}
    ${text('metadata', 'Metadata', 'order=7', isWrong ? 'Write key=value, or a key.' : undefined)}
    ${isSearching ? choice('expiry', 'Expiry', expiries) : nothing}
    ${
      Object.values(filters).every((value) => value === '')
        ? nothing
        : html`<button type="button" @click=${() => change(NO_FILTERS)}>Clear</button>`
    }
  </div>`
}
