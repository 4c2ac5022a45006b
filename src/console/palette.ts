import { path as apiPath } from './api/client.ts'
import { dialog } from './kit/dialog.ts'
import { html, live, type TemplateResult } from './kit/html.ts'
import type { ListResponse } from './kit/list.ts'
import { mayHoldData } from './kit/may-hold-data.ts'
import { resource } from './kit/resource.ts'
import type { Screen } from './kit/screen.ts'
import { computed, signal } from './kit/signals.ts'
import { type Entry, rank } from './rank.ts'
import { hashOf, link } from './router.ts'
import { createToken } from './screens/tokens/create.ts'
import { api, may, missingKey, signOut } from './session.ts'
import { ADD_KEY, addKey } from './sign-in.ts'

/** ms without another letter before the API is asked. */
const QUIET_MS = 200

/** Entities of a kind that are shown. */
const SIZE = 5

const LISTS = [
  { kind: 'Application', path: '/applications', screen: '/applications', needs: 'application:read' },
  { kind: 'Proxy', path: '/proxies', screen: '/proxies', needs: 'proxy:read' },
  { kind: 'Reactor', path: '/reactors', screen: '/reactors', needs: 'reactor:read' },
  { kind: 'Formula', path: '/reactor-formulas', screen: '/formulas', needs: 'reactor:read' },
  { kind: 'Webhook', path: '/webhooks', screen: '/webhooks', needs: 'webhook:read' },
]

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const TRACE = /^[0-9a-f]{32}$/i
/** An id that somebody chose has a digit or a hyphen. */
const TOKEN = /^(?=.*[\d_-])[\w.:-]{6,200}$/

/** Screens and actions that the keys permit. */
const commands = (screens: readonly Screen[], within: AbortSignal): readonly Entry[] => {
  const missing = missingKey()
  const navigate = (hash: string) => {
    location.hash = hash
  }
  return [
    ...screens
      .filter(({ path, needs }) => !path.includes(':') && needs(may))
      .map(({ path, nav, title }) => ({
        label: nav ?? title,
        kind: path.endsWith('/new') ? 'Action' : 'Screen',
        to: hashOf(path),
      })),
    ...(may('token:create')
      ? [{ label: 'Create token', kind: 'Action', to: () => createToken({ api, signal: within, navigate }) }]
      : []),
    ...(missing === undefined
      ? []
      : [{ label: ADD_KEY[missing], kind: 'Action', to: () => addKey(missing) }]),
    { label: 'Sign out', kind: 'Action', to: signOut },
  ]
}

/** Whether there is such a token, as far as the keys may know. Its data is not read. */
const isToken = async (id: string, signal: AbortSignal): Promise<boolean> => {
  if (may('application:read'))
    return (await api.raw('GET', apiPath`/tokens/${id}/access`, { query: { size: 1 }, signal })).ok
  if (!may('token:search')) return UUID.test(id) && (may('token:read') || may('log:read'))
  const body = { query: `id:"${id}"`, size: 1, disclosure: 'redact' }
  return (
    (await api.call<ListResponse<unknown>>('POST', '/v2/tokens/search', { body, signal })).data.length > 0
  )
}

const tokenOf = async (id: string, signal: AbortSignal): Promise<readonly Entry[]> =>
  TOKEN.test(id) && (await isToken(id, signal)) ? [{ label: id, kind: 'Token', to: link`/tokens/${id}` }] : []

interface Named {
  readonly id: string
  readonly name: string
}

interface Found {
  readonly text: string
  readonly entries: readonly Entry[]
  /** Why there may be more. */
  readonly note?: string | false
}

/** Entities by a part of their name or by their id. A text that may hold data is sent nowhere. */
const entitiesOf = async (text: string, signal: AbortSignal): Promise<Found> => {
  if (text === '') return { text, entries: [] }
  if (mayHoldData(text)) return { text, entries: [], note: 'This may be data. Search for it in Tokens.' }
  const isId = UUID.test(text)
  // Formulas have no filter by id: the newest are looked through.
  const query = isId ? { id: text, size: 100 } : { name: text, size: SIZE }
  const lists = LISTS.filter(({ needs }) => may(needs)).map(async ({ kind, path, screen }) => {
    const { data } = await api.call<ListResponse<Named>>('GET', path, { query, signal })
    return data
      .filter(({ id }) => !isId || id === text.toLowerCase())
      .map(({ id, name }): Entry => ({ label: name, kind, to: `#${screen}/${encodeURIComponent(id)}` }))
  })
  const results = await Promise.allSettled([...lists, tokenOf(text, signal)])
  return {
    text,
    entries: results.flatMap((result) => (result.status === 'fulfilled' ? result.value : [])),
    note: results.some(({ status }) => status === 'rejected') && 'Some searches failed. Type again to retry.',
  }
}

const tracesOf = (text: string): readonly Entry[] =>
  may('log:read') && TRACE.test(text)
    ? [{ label: `Requests of the trace ${text}`, kind: 'Trace', to: hashOf('/requests', { trace_id: text }) }]
    : []

/** Asks for a name, an id or an action, and opens or does what was chosen. */
export const openPalette = async (screens: readonly Screen[]): Promise<void> => {
  const end = new AbortController()
  const own = commands(screens, new AbortController().signal)
  const text = signal('')
  const active = signal(0)
  /** Opens the first entity: Enter was pressed before the API responded. */
  let waiting: ((entry: Entry) => void) | undefined
  const found = resource(async (signal) => {
    const wanted = text.value.trim()
    await new Promise((resolve) => setTimeout(resolve, wanted === '' ? 0 : QUIET_MS))
    signal.throwIfAborted()
    const result = await entitiesOf(wanted, signal)
    const [first] = result.entries
    if (first !== undefined && !signal.aborted) waiting?.(first)
    return result
  }, end.signal)
  /** What the API found for the text as it is now. */
  const current = computed(() =>
    found.value.value?.text === text.value.trim() ? found.value.value : undefined,
  )
  const entries = computed(() => [
    ...rank(own, text.value),
    ...tracesOf(text.value.trim()),
    ...(current.value?.entries ?? []),
  ])

  const onKey = (event: KeyboardEvent, close: (entry?: Entry) => void): void => {
    const { length } = entries.value
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.isComposing || (step === undefined && event.key !== 'Enter')) return
    event.preventDefault()
    if (step === undefined) {
      const entry = entries.value[active.value]
      if (entry === undefined) waiting = close
      else close(entry)
    } else if (length > 0) {
      active.value = (active.value + step + length) % length
      document.getElementById(`palette-${active.value}`)?.scrollIntoView({ block: 'nearest' })
    }
  }

  const status = (): string => {
    if (current.value === undefined) return 'Searching …'
    if (current.value.note) return current.value.note
    const { length } = entries.value
    return length === 0 ? 'Nothing has this name or id.' : `${length} ${length === 1 ? 'result' : 'results'}`
  }

  const view = (close: (entry?: Entry) => void): TemplateResult => html`<div class="palette">
    <div class="buttons">
    <input
      role="combobox"
      aria-label="Name, id or action"
      aria-autocomplete="list"
      aria-expanded=${String(entries.value.length > 0)}
      aria-controls="palette"
      aria-activedescendant=${entries.value.length > 0 ? `palette-${active.value}` : ''}
      autocomplete="off"
      autocapitalize="off"
      spellcheck="false"
      maxlength="200"
      autofocus
      .value=${live(text.value)}
      @input=${(event: Event) => {
        active.value = 0
        waiting = undefined
        text.value = (event.target as HTMLInputElement).value
      }}
      @keydown=${(event: KeyboardEvent) => onKey(event, close)}
    />
    <button type="button" @click=${() => close()}>Close</button>
    </div>
    <ul role="listbox" id="palette" aria-label="Results" ?hidden=${entries.value.length === 0}>
      ${entries.value.map(
        (entry, index) => html`<li
          role="option"
          id=${`palette-${index}`}
          aria-selected=${String(index === active.value)}
          @click=${() => close(entry)}
        >
          ${entry.label} <span class="badge">${entry.kind}</span>
        </li>`,
      )}
    </ul>
    <p class="soft small" role="status">${status()}</p>
  </div>`

  const chosen = await dialog<Entry>({ title: 'Search', body: view })
  end.abort()
  // The focus is where it was by then: another dialog gives it back to that.
  if (chosen !== undefined)
    setTimeout(() => {
      if (typeof chosen.to === 'string') location.hash = chosen.to
      else void chosen.to()
    })
}
