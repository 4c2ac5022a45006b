import { field } from '../../kit/form.ts'
import { html, live } from '../../kit/html.ts'
import { listOf, showList } from '../../kit/list.ts'
import type { Screen } from '../../kit/screen.ts'
import { effect, signal } from '../../kit/signals.ts'
import { snippet } from '../../kit/snippet.ts'
import { table } from '../../kit/table.ts'
import { when } from '../../kit/time.ts'
import { link } from '../../router.ts'
import { may } from '../../session.ts'
import { phraseOf } from './phrase.ts'
import type { Application } from './types.ts'

/** ms without another letter before the list is loaded again. */
const QUIET_MS = 300

const TYPES = ['management', 'private', 'public']

export const listScreen: Screen = {
  path: '/applications',
  title: 'Applications',
  nav: 'Applications',
  needs: (may) => may('application:read'),
  open: (context) => {
    const { filters, setFilters } = context
    const query = () => ({ type: filters.value.get('type') ?? '', name: filters.value.get('name') ?? '' })
    const list = listOf<Application>({ ...context, path: '/applications', query })

    /** What the field holds: the hash follows a moment later. */
    const typed = signal('')
    const dispose = effect(() => {
      typed.value = filters.value.get('name') ?? ''
    })
    let timer: ReturnType<typeof setTimeout> | undefined
    const filter = (changes: { readonly type?: string }) => {
      clearTimeout(timer)
      setFilters({ name: typed.peek(), rows: undefined, ...changes })
    }
    const search = (event: Event) => {
      typed.value = (event.target as HTMLInputElement).value
      clearTimeout(timer)
      timer = setTimeout(() => filter({}), QUIET_MS)
    }

    return {
      close: () => {
        clearTimeout(timer)
        dispose()
      },
      actions: () =>
        may('application:create')
          ? html`<a class="button primary" href="#/applications/new">New application</a>`
          : html``,
      view: () => {
        const { type, name } = query()
        return html`
          <form class="filters" role="search" @submit=${(event: Event) => event.preventDefault()}>
            ${field({
              label: 'Name',
              control: html`<input
                type="search"
                .value=${live(typed.value)}
                placeholder="checkout*"
                autocomplete="off"
                @input=${search}
              />`,
            })}
            ${field({
              label: 'Type',
              control: html`<select
                @change=${(event: Event) => filter({ type: (event.target as HTMLSelectElement).value })}
              >
                <option value="" ?selected=${type === ''}>any</option>
                ${TYPES.map((one) => html`<option value=${one} ?selected=${type === one}>${one}</option>`)}
              </select>`,
            })}
            ${snippet('GET', '/applications', { query: query() })}
          </form>
          ${showList(list, (rows) =>
            table({
              caption: 'Applications',
              rows,
              key: ({ id }) => id,
              link: ({ id }) => link`/applications/${id}`,
              columns: [
                { head: 'Name', cell: (one) => one.name },
                { head: 'Type', cell: (one) => html`<span class="badge">${one.type}</span>` },
                { head: 'May do', kind: 'wide', cell: phraseOf },
                { head: 'Created', cell: (one) => when(one.created_at) },
                {
                  head: 'Expires',
                  cell: (one) =>
                    one.expires_at === undefined
                      ? html`<span class="soft">never</span>`
                      : when(one.expires_at),
                },
              ],
              empty:
                type === '' && name === ''
                  ? 'No applications yet.'
                  : html`No application has this name and type.
                      <button type="button" @click=${() => setFilters({ type: undefined, name: undefined })}>
                        Show all
                      </button>`,
            }),
          )}
        `
      },
    }
  },
}
