import type { Api, CallOptions } from '../api/client.ts'
import { button } from './button.ts'
import { type Action, action } from './form.ts'
import { html, nothing, type TemplateResult } from './html.ts'
import { count } from './numbers.ts'
import { problem } from './problem.ts'
import { type Resource, resource, show } from './resource.ts'
import { computed, type ReadonlySignal, signal, untracked } from './signals.ts'

/** The response of a list of the API (completions §3). */
export interface ListResponse<T> {
  readonly pagination: {
    readonly total_items?: number
    readonly page_number?: number
    readonly page_size: number
    readonly total_pages?: number
    readonly next?: string
  }
  readonly data: readonly T[]
}

interface Rows<T> {
  readonly rows: readonly T[]
  /** Number of rows on all pages; undefined for a cursor list. */
  readonly total: number | undefined
  /** Query of the next page; undefined on the last page. */
  readonly next: { readonly start: string } | { readonly page: number } | undefined
}

interface List<T> extends Resource<Rows<T>> {
  readonly rows: ReadonlySignal<readonly T[]>
  /** Adds the next page. */
  more(): Promise<void>
  readonly adding: Action
}

interface ListOptions {
  readonly api: Api
  readonly path: string
  /** Filters; reads signals. When it changes, the list loads again. */
  readonly query?: () => NonNullable<CallOptions['query']>
  readonly signal: AbortSignal
  /** Rows of a page; default 50. */
  readonly size?: number
  /** Filters of the screen. With them, the hash holds the number of rows (`rows`): Back and links show as many. */
  readonly filters?: ReadonlySignal<URLSearchParams>
  setFilters?(changes: Readonly<Record<string, string | undefined>>): void
}

/** Rows that a link loads at once. */
const MAX_ROWS = 500

/** Query of the page after a response; undefined: it is the last. */
export const nextPageQuery = ({ pagination }: ListResponse<unknown>): Rows<unknown>['next'] => {
  const { next, page_number: page, total_pages: pages } = pagination
  if (next !== undefined) return { start: next }
  return page !== undefined && pages !== undefined && page < pages ? { page: page + 1 } : undefined
}

/** The rows of `before`, followed by those of a page. */
const appendPage = <T>(before: Rows<T> | undefined, page: ListResponse<T>): Rows<T> => ({
  rows: [...(before?.rows ?? []), ...page.data],
  total: page.pagination.total_items,
  next: nextPageQuery(page),
})

/** An offset or cursor list of the API. In a screen: `listOf<Token>({ ...context, path: '/tokens', query })`. */
export const listOf = <T>(options: ListOptions): List<T> => {
  const { api, path, query = () => ({}), size = 50, filters, setFilters } = options
  const loadPage = (asked: CallOptions['query'], signal: AbortSignal, background = false) =>
    api.call<ListResponse<T>>('GET', path, { query: { ...asked, size }, signal, background })

  /** The query as text, so that only a changed query loads the list again. */
  const text = computed(() => JSON.stringify(query()))

  const list = resource<Rows<T>>(async (signal, background) => {
    text.value
    const currentQuery = untracked(query)
    const wantedRows = Math.min(MAX_ROWS, Number(filters?.peek().get('rows') ?? 0) || 0)
    let rows = appendPage(undefined, await loadPage(currentQuery, signal, background))
    while (rows.rows.length < wantedRows && rows.next !== undefined)
      rows = appendPage(rows, await loadPage({ ...currentQuery, ...rows.next }, signal, background))
    return rows
  }, options.signal)

  /** Pages that were added to the rows of `to`. */
  const added = signal<{ readonly to: Rows<T>; readonly rows: Rows<T> } | undefined>(undefined)
  const all = computed(() => {
    const base = list.value.value
    return base !== undefined && added.value?.to === base ? added.value.rows : base
  })

  const adding = action(async () => {
    const base = list.value.peek()
    const before = all.peek()
    if (base === undefined || before?.next === undefined) return
    const rows = appendPage(before, await loadPage({ ...query(), ...before.next }, options.signal))
    if (list.value.peek() === base) added.value = { to: base, rows }
    setFilters?.({ rows: String(Math.min(MAX_ROWS, rows.rows.length)) })
  })

  return {
    ...list,
    value: all,
    state: computed(() => {
      const state = list.state.value
      return state.kind === 'ready' ? { ...state, value: all.value ?? state.value } : state
    }),
    rows: computed(() => all.value?.rows ?? []),
    adding,
    more: () => adding.run(),
  }
}

/** Rows by `view`, how many there are, and a button for more. */
export const showList = <T>(list: List<T>, view: (rows: readonly T[]) => TemplateResult): TemplateResult =>
  show(list, ({ rows, total, next }) => {
    const { busy, error, run } = list.adding
    return html`${view(rows)}
      ${error.value === undefined ? nothing : problem(error.value, run)}
      ${
        rows.length === 0
          ? nothing
          : html`<p class="footer soft">
              <span>${total === undefined ? `${count(rows.length)} shown` : `${count(rows.length)} of ${count(total)}`}</span>
              ${
                next === undefined
                  ? nothing
                  : button(busy.value ? 'Loading …' : 'Load more', run, { disabled: busy.value })
              }
            </p>`
      }`
  })
