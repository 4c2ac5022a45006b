import { choiceField, field, valueIn } from '../../kit/form.ts'
import { html, type TemplateResult } from '../../kit/html.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { fromLocal, toLocal } from '../../kit/time.ts'

/** Filters of `GET /logs`, with the names that they have in the hash. */
const FILTERS = ['entity_type', 'entity_id', 'start_date', 'end_date'] as const

type LogQuery = Readonly<Record<(typeof FILTERS)[number], string | undefined>>

export const queryOf = (filters: URLSearchParams): LogQuery =>
  Object.fromEntries(FILTERS.map((name) => [name, filters.get(name)?.trim() || undefined])) as LogQuery

export const isFiltered = (query: LogQuery): boolean => FILTERS.some((name) => query[name] !== undefined)

export interface EntityType {
  readonly display_name: string
  readonly value: string
}

/** Filters as a form; each change reloads the list. Inputs are not `live`: text being typed outlives a reload. */
export const filterForm = (
  { filters, setFilters }: Pick<ScreenContext, 'filters' | 'setFilters'>,
  types: readonly EntityType[],
): TemplateResult => {
  const query = queryOf(filters.value)
  const set = (changes: Partial<LogQuery>) => setFilters({ ...changes, rows: undefined })
  const sorted = [...types].sort((a, b) => a.display_name.localeCompare(b.display_name))
  const time = (label: string, name: 'start_date' | 'end_date') =>
    field({
      label,
      control: html`<input
        type="datetime-local"
        .value=${toLocal(query[name])}
        @change=${(event: Event) => set({ [name]: fromLocal(valueIn(event)) })}
      />`,
    })
  return html`<form class="filters" role="search" aria-label="Filter records" @submit=${(event: Event) => event.preventDefault()}>
    ${choiceField({
      label: 'Entity type',
      value: query.entity_type ?? '',
      choices: [['', 'Any'], ...sorted.map(({ display_name, value }) => [value, display_name] as const)],
      set: (entity_type) => set({ entity_type }),
    })}
    ${field({
      label: 'Entity id',
      control: html`<input
        type="search"
        spellcheck="false"
        autocomplete="off"
        .value=${query.entity_id ?? ''}
        @change=${(event: Event) => set({ entity_id: valueIn(event).trim() })}
      />`,
    })}
    ${time('From', 'start_date')} ${time('Until', 'end_date')}
    <button
      type="button"
      ?disabled=${!isFiltered(query)}
      @click=${() => set({ entity_type: undefined, entity_id: undefined, start_date: undefined, end_date: undefined })}
    >
      Clear
    </button>
  </form>`
}
