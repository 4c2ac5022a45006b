import { may } from '../session.ts'
import { button } from './button.ts'
import { choiceField, field, valueIn } from './form.ts'
import { hiddenFiltersNote } from './hidden-filters.ts'
import { html, live, type TemplateResult } from './html.ts'
import { listOf, showList } from './list.ts'
import type { Screen, ScreenContext, ScreenInstance } from './screen.ts'
import { type Tabs, tabLinks } from './section.ts'
import { effect, signal } from './signals.ts'
import { snippet } from './snippet.ts'
import { type Column, table } from './table.ts'
import { relativeTime } from './time.ts'

/** ms without another letter before the list is loaded again. */
const QUIET_MS = 300

/** Another filter: a member of the query, with the values to choose from. */
interface Choice {
  readonly member: string
  readonly label: string
  readonly values: readonly string[]
}

interface Named {
  readonly id: string
  readonly name: string
}

interface NamedListOptions<T> {
  /** Path of the list in the API: `/proxies`. */
  readonly path: string
  /** Path of the list in the hash: `/proxies`, with `/proxies/new` and `/proxies/<id>`. */
  readonly screen: string
  readonly title: string
  /** Label of the link to a new one; undefined: the key may not create one. */
  readonly create: string | undefined
  readonly columns: readonly Column<T>[]
  readonly choices?: readonly Choice[]
  /** Text of an empty list: the purpose of such entities, and the next step. */
  readonly empty: TemplateResult | string
}

/** A list of the API that is filtered by name, with a link to each and to a new one. */
export const namedList = <T extends Named>(
  context: ScreenContext,
  options: NamedListOptions<T>,
): ScreenInstance => {
  const { filters, setFilters, signal: within } = context
  const { path, screen, title, create, columns, choices = [], empty } = options
  const members = ['name', ...choices.map(({ member }) => member)]
  const filterValue = (member: string) => filters.value.get(member) ?? ''
  const query = () => Object.fromEntries(members.map((member) => [member, filterValue(member)]))
  const list = listOf<T>({ ...context, path, query })
  /** Text of the name field. The filter follows a moment later. */
  const nameText = signal('')
  const dispose = effect(() => {
    nameText.value = filterValue('name')
  })
  let timer: ReturnType<typeof setTimeout> | undefined
  within.addEventListener('abort', () => {
    clearTimeout(timer)
    dispose()
  })
  const filter = (changes: Readonly<Record<string, string>> = {}) => {
    clearTimeout(timer)
    setFilters({ name: nameText.peek(), rows: undefined, ...changes })
  }
  const search = (event: Event) => {
    nameText.value = valueIn(event)
    clearTimeout(timer)
    timer = setTimeout(filter, QUIET_MS)
  }
  const choice = ({ member, label, values }: Choice) =>
    choiceField({
      label,
      value: filterValue(member),
      choices: [['', 'any'], ...values.map((value) => [value, value] as const)],
      set: (value) => filter({ [member]: value }),
    })
  return {
    actions: () =>
      create === undefined ? html`` : html`<a class="button primary" href=${`#${screen}/new`}>${create}</a>`,
    view: () => html`
      <form class="filters" role="search" @submit=${(event: Event) => event.preventDefault()}>
        ${field({
          label: 'Name',
          control: html`<input type="search" .value=${live(nameText.value)} autocomplete="off" @input=${search} />`,
        })}
        ${choices.map(choice)}
        ${snippet('GET', path, { query: query() })}
      </form>
      ${hiddenFiltersNote(context)}
      ${showList(list, (rows) =>
        table({
          caption: title,
          rows,
          columns,
          key: ({ id }) => id,
          link: ({ id }) => `#${screen}/${encodeURIComponent(id)}`,
          empty: members.every((member) => filterValue(member) === '')
            ? empty
            : html`Nothing here has that. ${button('Show all', () =>
                setFilters(Object.fromEntries(members.map((member) => [member, undefined]))),
              )}`,
        }),
      )}
    `,
  }
}

interface Dated {
  readonly created_at?: string
  readonly modified_at?: string
}

/** The screen of such a list, with the columns that all have. */
export const namedListScreen = <T extends Named & Dated>({
  permission,
  create,
  columns,
  tabs,
  ...options
}: NamedListOptions<T> & {
  /** Resource of its permissions: `proxy`. */
  readonly permission: string
  readonly tabs?: Tabs
}): Screen => ({
  path: options.screen,
  title: options.title,
  nav: options.title,
  needs: (may) => may(`${permission}:read`),
  open: (context) => {
    const list = namedList<T>(context, {
      ...options,
      create: may(`${permission}:create`) ? create : undefined,
      columns: [
        { head: 'Name', cell: ({ name }) => name },
        ...columns,
        { head: 'Changed', cell: ({ modified_at, created_at }) => relativeTime(modified_at ?? created_at) },
      ],
    })
    return { ...list, view: () => html`${tabs && tabLinks(tabs, options.screen)} ${list.view()}` }
  },
})
