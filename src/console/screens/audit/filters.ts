import { choiceField, field, valueIn } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { fromLocal, toLocal } from '../../kit/time.ts'

/** Filters of `GET /logs`, with the names that they have in the hash. */
const FILTERS = ['operation', 'entity_type', 'entity_id', 'actor_id', 'start_date', 'end_date'] as const

type LogQuery = Readonly<Record<(typeof FILTERS)[number], string | undefined>>

export const queryOf = (filters: URLSearchParams): LogQuery =>
  Object.fromEntries(FILTERS.map((name) => [name, filters.get(name)?.trim() || undefined])) as LogQuery

export const isFiltered = (query: LogQuery): boolean => FILTERS.some((name) => query[name] !== undefined)

export interface EntityType {
  readonly display_name: string
  readonly value: string
}

/** Operations of all token types and resources (docs/reference/audit-format.md). */
const OPERATIONS = ['create', 'read', 'update', 'delete', 'use', 'outcome', 'guard', 'check', 'authorize']

/**
 * Filters as a form; each change reloads the list. Inputs are not `live`: text being typed outlives a reload.
 * `actors`: names by id, which are suggested.
 */
export const filterForm = (
  { filters, setFilters }: Pick<ScreenContext, 'filters' | 'setFilters'>,
  types: readonly EntityType[],
  actors: ReadonlyMap<string, string>,
): TemplateResult => {
  const query = queryOf(filters.value)
  const set = (changes: Partial<LogQuery>) => setFilters({ ...changes, rows: undefined })
  const sorted = [...types].sort((a, b) => a.display_name.localeCompare(b.display_name))
  const { operation } = query
  const operations = [...new Set([...OPERATIONS, ...(operation === undefined ? [] : [operation])])]
  const id = (label: string, name: 'entity_id' | 'actor_id') =>
    field({
      label,
      control: html`<input
        type="search"
        spellcheck="false"
        autocomplete="off"
        list=${name === 'actor_id' ? 'actors' : nothing}
        .value=${query[name] ?? ''}
        @change=${(event: Event) => set({ [name]: valueIn(event).trim() })}
      />`,
    })
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
      label: 'Operation',
      value: operation ?? '',
      choices: [['', 'Any'], ...operations.map((name) => [name, name] as const)],
      set: (operation) => set({ operation }),
    })}
    ${choiceField({
      label: 'Entity type',
      value: query.entity_type ?? '',
      choices: [['', 'Any'], ...sorted.map(({ display_name, value }) => [value, display_name] as const)],
      set: (entity_type) => set({ entity_type }),
    })}
    ${id('Entity id', 'entity_id')} ${id('Actor id', 'actor_id')}
    <datalist id="actors">${[...actors].map(([id, name]) => html`<option value=${id}>${name}</option>`)}</datalist>
    ${time('From', 'start_date')} ${time('Until', 'end_date')}
    <button
      type="button"
      ?disabled=${!isFiltered(query)}
      @click=${() => set(queryOf(new URLSearchParams()))}
    >
      Clear
    </button>
  </form>`
}
