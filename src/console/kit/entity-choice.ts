import type { Api, CallOptions } from '../api/client.ts'
import { may } from '../session.ts'
import { html, nothing, type TemplateResult } from './html.ts'
import type { ListResponse } from './list.ts'
import { type ReadonlySignal, signal } from './signals.ts'

interface Named {
  readonly id: string
  readonly name: string
}

/** Entities that a list offers; where there are more, their id is typed. */
const MOST = 100

export interface EntityChoice<T> {
  /** Undefined: they are not loaded, there are too many, or the key may not read them. */
  readonly options: ReadonlySignal<readonly T[] | undefined>
  /** A control of the form member `name`: the id, or `''` for none. */
  control(of: {
    readonly name: string
    readonly chosen: string | undefined
    /** Label of no choice. */
    readonly none: string
    readonly change?: (id: string) => void
  }): TemplateResult
}

/** A choice among the entities of a list of the API. */
export const entityChoice = <T extends Named>({
  api,
  path,
  query = {},
  allowed,
  signal: within,
}: {
  readonly api: Api
  readonly path: string
  readonly query?: NonNullable<CallOptions['query']>
  /** The key may read the list. */
  readonly allowed: boolean
  readonly signal: AbortSignal
}): EntityChoice<T> => {
  const options = signal<readonly T[] | undefined>(undefined)
  const isLoading = signal(allowed)
  const load = async () => {
    const { data, pagination } = await api.call<ListResponse<T>>('GET', path, {
      query: { ...query, size: MOST },
      signal: within,
    })
    if ((pagination.total_pages ?? 1) <= 1) options.value = data
  }
  if (allowed)
    load()
      .catch(() => {
        // an id can be typed
      })
      .finally(() => {
        isLoading.value = false
      })
  const onChange = (change: ((id: string) => void) | undefined) => (event: Event) =>
    change?.((event.target as HTMLInputElement | HTMLSelectElement).value)
  return {
    options,
    control: ({ name, chosen = '', none, change }) => {
      const known = options.value ?? (isLoading.value ? [] : undefined)
      if (known === undefined)
        return html`<input
          name=${name}
          placeholder="Id"
          autocomplete="off"
          spellcheck="false"
          .value=${chosen}
          @change=${onChange(change)}
        />`
      return html`<select name=${name} aria-busy=${isLoading.value} @change=${onChange(change)}>
        <option value="" ?selected=${chosen === ''}>${none}</option>
        ${
          chosen === '' || known.some(({ id }) => id === chosen)
            ? nothing
            : html`<option value=${chosen} selected>${chosen}</option>`
        }
        ${known.map(({ id, name: label }) => html`<option value=${id} ?selected=${id === chosen}>${label}</option>`)}
      </select>`
    },
  }
}

/** A choice among the applications that code may act as. */
export const applicationChoice = (context: { readonly api: Api; readonly signal: AbortSignal }) =>
  entityChoice({
    ...context,
    path: '/applications',
    query: { type: ['private', 'public'] },
    allowed: may('application:read'),
  })
