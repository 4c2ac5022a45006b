import type { Api } from '../../api/client.ts'
import { asApiError } from '../../api/problem.ts'
import type { Token } from '../../api/types.ts'
import { field } from '../../kit/form.ts'
import { html, live, nothing, type TemplateResult } from '../../kit/html.ts'
import { listOf, showList } from '../../kit/list.ts'
import type { Opened, ScreenContext } from '../../kit/screen.ts'
import { computed, effect, type ReadonlySignal, signal, untracked } from '../../kit/signals.ts'
import { snippet } from '../../kit/snippet.ts'
import { table } from '../../kit/table.ts'
import { when } from '../../kit/time.ts'
import { link } from '../../router.ts'
import { may, session } from '../../session.ts'
import { maskedData, metadataChips } from './cells.ts'
import { createToken } from './create.ts'
import { EXPIRIES, type Filters, isByData, listQuery, metadataOf, searchQuery } from './query.ts'
import { createSearchBox, languageHelp } from './search-box.ts'
import type { Known } from './suggest.ts'
import { MASKED } from './types.ts'

const SEARCH = '/v2/tokens/search'
const LIST = '/v2/tokens'

const TYPES =
  'card token bank card_number us_bank_account_number us_bank_routing_number social_security_number employer_id_number'.split(
    ' ',
  )

/** Lists whose query is a body. */
const posting = (api: Api): Api => ({
  ...api,
  call: (_method, path, { query, ...options } = {}) => api.call('POST', path, { ...options, body: query }),
})

/** `/tokens`. */
export const openList = (context: ScreenContext): Opened => {
  const { api, filters, setFilters } = context
  const isSearching = may('token:search')
  /** A query by data: it is not in the hash. */
  const unlisted = signal('')
  const of = (name: string): ReadonlySignal<string> => computed(() => filters.value.get(name) ?? '')
  const q = of('q')
  const [type, container, metadata, expiry] = ['type', 'container', 'metadata', 'expiry'].map(of) as [
    ReadonlySignal<string>,
    ReadonlySignal<string>,
    ReadonlySignal<string>,
    ReadonlySignal<string>,
  ]
  const current = (): Filters => ({
    q: isSearching ? unlisted.value || q.value : '',
    type: type.value,
    container: container.value,
    metadata: metadata.value,
    expiry: isSearching ? expiry.value : '',
  })
  const isFiltered = () => Object.values(current()).some((value) => value !== '')
  const query = () =>
    isSearching
      ? { query: searchQuery(current(), Date.now()), ...MASKED }
      : { ...listQuery(current()), ...MASKED }
  const list = listOf<Token>({
    ...context,
    api: isSearching ? posting(api) : api,
    path: isSearching ? SEARCH : LIST,
    query,
  })
  const change = (changes: Readonly<Record<string, string | undefined>>) =>
    setFilters({ ...changes, rows: undefined })

  /** The last tokens on the page: a query that fails shows none. */
  let seen: readonly Token[] = []
  const known = (): Known => {
    if (list.rows.value.length > 0) seen = list.rows.value
    return {
      types: [...new Set([...seen.map((token) => token.type), ...TYPES])],
      containers: [...new Set(seen.flatMap(({ containers = [] }) => containers))],
      metadata: [...new Set(seen.flatMap(({ metadata = {} }) => Object.keys(metadata)))],
      now: Date.now(),
    }
  }

  const box = createSearchBox({
    known,
    search: (text) => {
      const isHidden = isByData(text)
      unlisted.value = isHidden ? text : ''
      change({ q: isHidden ? undefined : text })
      if (!isHidden && text === q.peek()) list.reload()
    },
  })
  const dispose = effect(() => {
    const text = q.value
    untracked(() => unlisted.value === '' && box.set(text))
  })

  const queryError = (): string | undefined => {
    const state = list.state.value
    if (state.kind !== 'error' || unlisted.value + q.value === '') return undefined
    const sentence = asApiError(state.error).issues.query?.join('; ')
    return sentence && `${sentence[0]?.toUpperCase()}${sentence.slice(1)}.`
  }

  const filterRow = (): TemplateResult => {
    const text = (name: string, label: string, value: string, placeholder: string, error?: string) =>
      field({
        label,
        error,
        control: html`<input
          placeholder=${placeholder}
          spellcheck="false"
          autocapitalize="off"
          .value=${live(value)}
          @change=${(event: Event) => change({ [name]: (event.target as HTMLInputElement).value.trim() })}
        />`,
      })
    const types = [...new Set([...known().types, ...(type.value === '' ? [] : [type.value])])]
    return html`<div class="filters token-filters" role="group" aria-label="Filters">
      ${field({
        label: 'Type',
        control: html`<select @change=${(event: Event) => change({ type: (event.target as HTMLSelectElement).value })}>
          <option value="" ?selected=${type.value === ''}>Any type</option>
          ${types.map((one) => html`<option value=${one} ?selected=${one === type.value}>${one}</option>`)}
        </select>`,
      })}
      ${text('container', 'Container', container.value, '/pci/high/')}
      ${text(
        'metadata',
        'Metadata',
        metadata.value,
        'order=7',
        metadata.value === '' || metadataOf(metadata.value) ? undefined : 'Write key=value, or a key.',
      )}
      ${
        isSearching
          ? field({
              label: 'Expiry',
              control: html`<select
                @change=${(event: Event) => change({ expiry: (event.target as HTMLSelectElement).value })}
              >
                <option value="" ?selected=${expiry.value === ''}>Any expiry</option>
                ${Object.entries(EXPIRIES).map(
                  ([name, label]) =>
                    html`<option value=${name} ?selected=${name === expiry.value}>${label}</option>`,
                )}
              </select>`,
            })
          : nothing
      }
      ${
        isFiltered()
          ? html`<button
              type="button"
              @click=${() => {
                unlisted.value = ''
                box.set('')
                change({ q: '', type: '', container: '', metadata: '', expiry: '' })
              }}
            >
              Clear
            </button>`
          : nothing
      }
    </div>`
  }

  const empty = (): TemplateResult =>
    isFiltered()
      ? html`<p>No token that this key may see matches.</p>
          <p class="soft">Check the query, or clear the filters.</p>`
      : html`<p>No tokens yet.</p>
          ${
            may('token:create')
              ? html`<p><button type="button" class="primary" @click=${() => void createToken(context)}>Create a token</button></p>`
              : html`<p class="soft">Create one with a key that has <code>token:create</code>: <code>POST /tokens</code>.</p>`
          }`

  const rows = (tokens: readonly Token[]): TemplateResult =>
    table<Token>({
      caption: 'Tokens',
      rows: tokens,
      key: ({ id }) => id,
      link: ({ id }) => link`/tokens/${id}`,
      empty: empty(),
      columns: [
        { head: 'Token', kind: 'code', cell: ({ id }) => html`<span class="one-line">${id}</span>` },
        {
          head: 'Type',
          cell: (token) => html`<span class="one-line short" title=${token.type}>${token.type}</span>`,
        },
        { head: 'Masked data', cell: maskedData },
        {
          head: 'Container',
          cell: ({ containers = [] }) => html`<code class="one-line">${containers.join(' ')}</code>`,
        },
        { head: 'Metadata', cell: (token) => metadataChips(token) },
        {
          head: 'Created',
          cell: ({ created_at, expires_at }) =>
            html`${when(created_at)}${expires_at === undefined ? nothing : html`<br /><span class="soft small">expires ${when(expires_at)}</span>`}`,
        },
      ],
    })

  return {
    actions: () =>
      html`${
        isSearching ? snippet('POST', SEARCH, { body: query() }) : snippet('GET', LIST, { query: query() })
      }${
        may('token:create')
          ? html`<button type="button" @click=${() => void createToken(context)}>Create a token</button>`
          : nothing
      }`,
    view: () => html`<p class="soft">
        Tokens that <strong>${session.value?.private?.application.name ?? 'this key'}</strong> may see. Lists show masks only;
        a value is shown on its token's page, after <em>Reveal</em>.
      </p>
      ${isSearching ? html`${box.view(queryError())}${languageHelp()}` : nothing}
      ${unlisted.value === '' ? nothing : html`<p class="hint">A query by data is not in the address of this page, and not in the browser's history.</p>`}
      ${filterRow()}
      ${queryError() === undefined ? showList(list, rows) : nothing}`,
    close: dispose,
  }
}
