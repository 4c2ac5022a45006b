import { html, live, type TemplateResult } from './html.ts'
import { listOf, showList } from './list.ts'
import type { Opened, ScreenContext } from './screen.ts'
import { snippet } from './snippet.ts'
import { type Column, table } from './table.ts'

/** ms without another letter before the list is loaded again. */
const QUIET_MS = 300

/** A list of the API that is filtered by name, with a link to each and to a new one. */
export const namedList = <T extends { readonly id: string; readonly name: string }>(
  context: ScreenContext,
  options: {
    /** Of the API: `/proxies`. */
    readonly path: string
    /** Of the hashes: `/proxies`, with `/proxies/new` and `/proxies/<id>`. */
    readonly screen: string
    readonly title: string
    /** Label of the link to a new one; undefined: the key may not create one. */
    readonly create: string | undefined
    readonly columns: readonly Column<T>[]
    /** When there is none: what it is for, and the next step. */
    readonly empty: TemplateResult | string
  },
): Opened => {
  const { filters, setFilters, signal } = context
  const { path, screen, title, create, columns, empty } = options
  const query = () => ({ name: filters.value.get('name') ?? '' })
  const list = listOf<T>({ ...context, path, query })
  let timer: ReturnType<typeof setTimeout> | undefined
  signal.addEventListener('abort', () => clearTimeout(timer))
  const search = (event: Event) => {
    const name = (event.target as HTMLInputElement).value
    clearTimeout(timer)
    timer = setTimeout(() => setFilters({ name, rows: undefined }), QUIET_MS)
  }
  return {
    actions: () =>
      create === undefined ? html`` : html`<a class="button primary" href=${`#${screen}/new`}>${create}</a>`,
    view: () => html`
      <form class="filters" role="search" @submit=${(event: Event) => event.preventDefault()}>
        <label
          ><span>Name</span>
          <input type="search" .value=${live(query().name)} autocomplete="off" @input=${search} />
        </label>
        ${snippet('GET', path, { query: query() })}
      </form>
      ${showList(list, (rows) =>
        table({
          caption: title,
          rows,
          columns,
          key: ({ id }) => id,
          link: ({ id }) => `#${screen}/${encodeURIComponent(id)}`,
          empty:
            query().name === ''
              ? empty
              : html`Nothing has this name.
                  <button type="button" @click=${() => setFilters({ name: undefined })}>Show all</button>`,
        }),
      )}
    `,
  }
}
