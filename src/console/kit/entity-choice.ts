import { type Api, type CallOptions, path } from '../api/client.ts'
import { may } from '../session.ts'
import { type Field, select, valueIn } from './form.ts'
import { html, type TemplateResult } from './html.ts'
import type { ListResponse } from './list.ts'
import { resource } from './resource.ts'
import { computed, type ReadonlySignal } from './signals.ts'

interface Named {
  readonly id: string
  readonly name: string
}

/** Entities that a list offers; where there are more, their id is typed. */
const MAX_OPTIONS = 100

interface EntityChoice<T> {
  /** Undefined: they are not loaded, there are too many, or the key may not read them. */
  readonly options: ReadonlySignal<readonly T[] | undefined>
  readonly loading: ReadonlySignal<boolean>
  /** A control of the form member `name`: the id, or `''` for none. */
  control(options: {
    readonly name: string
    readonly chosen: string | undefined
    /** Label of the option for no entity. */
    readonly none: string
    readonly change?: (id: string) => void
  }): TemplateResult
}

/**
 * The entity of an id: one of `candidates`, or loaded by its id. `candidates` returns undefined while the list loads.
 * The value is undefined while nothing is loaded, and when there is no such entity.
 */
export const chosenEntity = <T extends { readonly id: string }>({
  api,
  path: list,
  id,
  candidates,
  signal: within,
}: {
  readonly api: Pick<Api, 'call'>
  /** Path of the list in the API: `/proxies`. */
  readonly path: string
  /** Id of the entity; `''` for none. `id` and `candidates` read signals. */
  readonly id: () => string
  readonly candidates: () => readonly T[] | undefined
  readonly signal: AbortSignal
}): ReadonlySignal<T | undefined> => {
  const find = () => candidates()?.find((candidate) => candidate.id === id())
  const loaded = resource(
    async (signal) =>
      id() === '' || candidates() === undefined || find() !== undefined
        ? undefined
        : api.call<T>('GET', list + path`/${id()}`, { signal }),
    within,
  )
  return computed(() => find() ?? (loaded.value.value?.id === id() ? loaded.value.value : undefined))
}

/** A choice among the entities of a list of the API. */
export const entityChoice = <T extends Named>({
  api,
  path: list,
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
  // Without the list, an id can be typed.
  const { value: options, busy: loading } = resource<readonly T[] | undefined>(async (signal) => {
    if (!allowed) return undefined
    const { data, pagination } = await api.call<ListResponse<T>>('GET', list, {
      query: { ...query, size: MAX_OPTIONS },
      signal,
    })
    return (pagination.total_pages ?? 1) <= 1 ? data : undefined
  }, within)
  return {
    options,
    loading,
    control: ({ name, chosen = '', none, change }) => {
      const known = options.value ?? (loading.value ? [] : undefined)
      if (known === undefined)
        return html`<input
          name=${name}
          placeholder="Id"
          autocomplete="off"
          spellcheck="false"
          .value=${chosen}
          @change=${(event: Event) => change?.(valueIn(event))}
        />`
      const isKnown = chosen === '' || known.some(({ id }) => id === chosen)
      return select({
        name,
        value: chosen,
        choices: [
          ['', none],
          ...(isKnown ? [] : [[chosen, chosen] as const]),
          ...known.map(({ id, name: label }) => [id, label] as const),
        ],
        set: change,
        busy: loading.value,
      })
    },
  }
}

/** The application that code may act as, as a field. */
export const applicationField = (
  context: { readonly api: Api; readonly signal: AbortSignal },
  hint: string,
): Field => {
  const name = 'application'
  const applications = entityChoice({
    ...context,
    path: '/applications',
    query: { type: ['private', 'public'] },
    allowed: may('application:read'),
  })
  return {
    name,
    label: 'Application',
    hint,
    control: (chosen) => applications.control({ name, chosen, none: 'None' }),
  }
}
