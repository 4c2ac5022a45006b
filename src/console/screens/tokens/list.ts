import type { Api } from '../../api/client.ts'
import { asApiError } from '../../api/problem.ts'
import type { Token } from '../../api/types.ts'
import { hiddenFiltersNote } from '../../kit/hidden-filters.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { type ListResponse, listOf, showList } from '../../kit/list.ts'
import { notifyResult } from '../../kit/notice.ts'
import type { ScreenContext, ScreenInstance } from '../../kit/screen.ts'
import { batch, computed, effect, signal, untracked } from '../../kit/signals.ts'
import { snippet } from '../../kit/snippet.ts'
import { type Column, table } from '../../kit/table.ts'
import { relativeTime } from '../../kit/time.ts'
import { link } from '../../router.ts'
import { may, session } from '../../session.ts'
import { maskedData, metadataChips } from './cells.ts'
import { createToken } from './create.ts'
import { filterRow } from './filters.ts'
import { type Filters, listQuery, NO_FILTERS, quotePhrase, searchQuery } from './query.ts'
import { type Reading, readSearch } from './reading.ts'
import { createSearchBox } from './search-box.ts'
import { MASK_ONLY } from './types.ts'

const SEARCH = '/v2/tokens/search'
const LIST = '/v2/tokens'

/** Built-in ones; others are known when a token of theirs is on the page. */
const TYPES =
  'card token bank card_number us_bank_account_number us_bank_routing_number social_security_number employer_id_number'

/** Lists whose query is a body. */
const posting = (api: Api): Api => ({
  ...api,
  call: (_method, path, { query, ...options } = {}) => api.call('POST', path, { ...options, body: query }),
})

const distinct = (texts: readonly string[]): readonly string[] => [...new Set(texts)]

const metadataKeys = (tokens: readonly Token[]): readonly string[] =>
  distinct(tokens.flatMap(({ metadata = {} }) => Object.keys(metadata)))

const oneLine = (text: string) => html`<span class="one-line" title=${text}>${text}</span>`

const columns: readonly Column<Token>[] = [
  { head: 'Token', kind: 'code', cell: ({ id }) => oneLine(id) },
  { head: 'Type', cell: ({ type }) => oneLine(type) },
  { head: 'Masked data', cell: maskedData },
  {
    head: 'Container',
    cell: ({ containers = [] }) => html`<code class="one-line">${containers.join(' ')}</code>`,
  },
  { head: 'Metadata', cell: metadataChips },
  {
    head: 'Created',
    cell: ({ created_at, expires_at }) => html`${relativeTime(created_at)}
      ${expires_at === undefined ? nothing : html`<br /><span class="soft small">expires ${relativeTime(expires_at)}</span>`}`,
  },
]

/** `/tokens`, for keys that may list or search tokens. */
export const openList = (context: ScreenContext): ScreenInstance => {
  const { api, filters, setFilters } = context
  const isSearching = may('token:search')
  /** Filters as JSON, so that only a changed filter loads the list again. */
  const text = computed(() => {
    const values = Object.keys(NO_FILTERS).map((name) => [name, filters.value.get(name) ?? ''])
    return JSON.stringify(Object.fromEntries(values))
  })
  const current = computed<Filters>(() => JSON.parse(text.value))
  const query = () => ({
    ...(isSearching ? { query: searchQuery(current.value, Date.now()) } : listQuery(current.value)),
    ...MASK_ONLY,
  })
  const where = isSearching
    ? { path: SEARCH, api: posting(api), snippet: () => snippet('POST', SEARCH, { body: query() }) }
    : { path: LIST, api, snippet: () => snippet('GET', LIST, { query: query() }) }
  const list = listOf<Token>({ ...context, ...where, query })
  const reading = signal<Reading>({ query: '', texts: [] })
  /** Counts changes of the query: a reading that comes after another one is dropped. */
  let changes = 0
  const change = (values: Partial<Filters>) => {
    if (values.q !== undefined) changes++
    setFilters({ ...values, rows: undefined })
  }

  /** The last tokens on the page: a query that fails shows none. */
  let seen: readonly Token[] = []
  const knownValues = () => {
    if (list.rows.value.length > 0) seen = list.rows.value
    return {
      types: distinct([...seen.map(({ type }) => type), ...TYPES.split(' ')]),
      containers: distinct(seen.flatMap(({ containers = [] }) => containers)),
      metadata: metadataKeys(seen),
      now: Date.now(),
    }
  }
  /** Tokens of a query without their data, so that no record is written. */
  const find = async (query: string, size: number) =>
    (await api.call<ListResponse<Token>>('POST', SEARCH, { body: { query, size, disclosure: 'redact' } }))
      .data
  const read = async (typed: string): Promise<Reading> => {
    const plain = readSearch(typed)
    const { texts } = plain
    if (texts.length === 0) return plain
    const [newest, named] = await Promise.all([
      find(searchQuery({ ...current.peek(), q: '' }, Date.now()), 50),
      find(texts.map((id) => `id:${quotePhrase(id)}`).join(' OR '), texts.length),
    ])
    const keys = metadataKeys([...newest, ...seen])
    return readSearch(typed, { keys, ids: named.map(({ id }) => id) })
  }
  const search = async (typed: string) => {
    const own = ++changes
    box.set(typed)
    const next = await read(typed)
    if (own !== changes) return
    const before = text.peek()
    batch(() => {
      reading.value = next
      change({ q: next.query })
    })
    if (text.peek() === before) list.reload()
  }
  const submit = (typed: string) => void notifyResult(search(typed))
  const box = createSearchBox(knownValues, submit, reading)
  const dispose = effect(() => {
    const { q } = current.value
    untracked(() => {
      if (reading.peek().query === q) return
      box.set(q)
      reading.value = { query: q, texts: [] }
      if (isSearching && readSearch(q).words !== undefined) submit(q)
    })
  })

  /** The error of the API about the query and the filters. */
  const queryError = (): string | undefined => {
    const state = list.state.value
    if (state.kind !== 'error') return undefined
    const sentence = Object.values(asApiError(state.error).issues).flat().join('; ')
    return sentence === '' ? undefined : `${sentence[0]?.toUpperCase()}${sentence.slice(1)}.`
  }
  const createButton = (kind = '') =>
    html`<button type="button" class=${kind} @click=${() => void createToken(context)}>Create a token</button>`
  const nextStep = (label: string, step: () => void) => {
    const take = () => {
      step()
      box.focus()
    }
    return html`<p><button type="button" @click=${take}>${label}</button></p>`
  }
  const empty = (): TemplateResult => {
    const { q, ...others } = current.value
    const { texts, wider } = reading.value
    const hasFilters = Object.values(others).some((value) => value !== '')
    if (q === '' && !hasFilters)
      return html`<p>No tokens yet.</p>
        <p>
          ${
            may('token:create')
              ? createButton('primary')
              : html`Create one with a key that has <code>token:create</code>: <code>POST /tokens</code>.`
          }
        </p>`
    return html`<p>No token that this key may see matches. Check the query, or clear the filters.</p>
      ${
        texts.length === 0
          ? nothing
          : html`<p>
              Data is found by search indexes only: a card by its last four digits. For another key of metadata, write
              <code>key:value</code>.
            </p>`
      }
      ${wider === undefined ? nothing : nextStep('Search for what begins with it', () => submit(wider))}
      ${q !== '' && hasFilters ? nextStep('Search without the filters', () => change({ ...NO_FILTERS, q })) : nothing}`
  }

  return {
    actions: () => html`${where.snippet()} ${may('token:create') ? createButton() : nothing}`,
    view: () => {
      const error = queryError()
      const types = distinct([...knownValues().types, current.value.type]).filter((type) => type !== '')
      const rows = (rows: readonly Token[]) => html`<div class="tokens">
        ${table<Token>({
          caption: 'Tokens',
          rows,
          columns,
          empty: empty(),
          key: ({ id }) => id,
          ...(may('token:read') ? { link: ({ id }: Token) => link`/tokens/${id}` } : {}),
        })}
      </div>`
      return html`<p class="soft">
          Tokens that <strong>${session.value?.private?.application.name ?? 'this key'}</strong> may see. Lists show masks
          only; a value is shown on its token's page, after <em>Reveal</em>.
        </p>
        ${isSearching ? box.view(error) : nothing}
        ${hiddenFiltersNote(context)}
        ${filterRow(current.value, types, isSearching, change)}
        ${error === undefined ? showList(list, rows) : nothing}
        ${error === undefined || isSearching ? nothing : html`<p class="error" role="alert">${error}</p>`}`
    },
    close: dispose,
  }
}
