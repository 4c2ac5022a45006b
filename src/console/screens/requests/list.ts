import type { RequestEntry } from '../../api/types.ts'
import { choiceField, field, valueIn } from '../../kit/form.ts'
import { hiddenFiltersNote } from '../../kit/hidden-filters.ts'
import { html, live, nothing, type TemplateResult } from '../../kit/html.ts'
import { count, milliseconds, quantile } from '../../kit/numbers.ts'
import { poll } from '../../kit/poll.ts'
import { show } from '../../kit/resource.ts'
import type { ScreenContext, ScreenInstance } from '../../kit/screen.ts'
import { computed } from '../../kit/signals.ts'
import { snippet } from '../../kit/snippet.ts'
import { type Column, table } from '../../kit/table.ts'
import { relativeTime } from '../../kit/time.ts'
import { hashOf, link } from '../../router.ts'
import type { Calls } from './call-pages.ts'
import { loadCalls } from './calls.ts'
import {
  FILTERS,
  filtersOf,
  KINDS,
  matchesFilters,
  OUTCOMES,
  type RequestFilters,
  sortCalls,
} from './filters.ts'
import { outcomeBadge } from './outcome.ts'
import { stageBar } from './stages.ts'

const POLL_MS = 3_000
const ROWS = 100

const columns = (most: number): readonly Column<RequestEntry>[] => [
  { head: 'Time', cell: ({ at }) => relativeTime(at) },
  {
    head: 'Call',
    cell: ({ kind, method, route }) =>
      html`<code class="call">${kind === 'connect' ? route : `${method} ${route}`}</code>`,
  },
  {
    head: 'Application',
    cell: ({ application }) =>
      application === undefined ? '–' : (application.name ?? html`<span class="soft">deleted</span>`),
  },
  {
    head: 'Proxy or host',
    cell: ({ proxy, host }) =>
      html`${proxy?.name ?? nothing} ${host === undefined ? nothing : html`<span class=${proxy ? 'soft small' : ''}>${host}</span>`}`,
  },
  {
    head: 'Outcome',
    cell: (call) =>
      html`<span class="outcome">${outcomeBadge(call)}${
        call.destination_status === undefined
          ? nothing
          : html` <span class="soft small" title="Status of the destination">→ ${call.destination_status}</span>`
      }</span>`,
  },
  { head: 'Tokens', kind: 'number', cell: ({ tokens }) => (tokens === 0 ? '' : count(tokens)) },
  {
    head: 'Time taken',
    kind: 'number',
    cell: (call) => html`<span class="taken">${stageBar(call, most)}${milliseconds(call.duration_ms)}</span>`,
  },
  {
    head: 'Trace id',
    kind: 'code',
    cell: ({ trace_id }) => html`<span title=${trace_id}>${trace_id.slice(0, 8)}</span>`,
  },
]

/** Values among the loaded calls, for the choices of a filter. */
const choices = (
  entries: readonly RequestEntry[],
  optionOf: (call: RequestEntry) => readonly [value: string, label: string] | undefined,
): readonly (readonly [string, string])[] =>
  [
    ...new Map(
      entries.flatMap(
        (call) => [optionOf(call) ?? []].filter((option) => option.length === 2) as [string, string][],
      ),
    ),
  ].sort(([, a], [, b]) => a.localeCompare(b))

export const openList = (context: ScreenContext): ScreenInstance => {
  const { api, filters, setFilters, signal } = context
  const calls = loadCalls(api, signal)
  const requestFilters = computed(() => filtersOf(filters.value))
  const isLive = computed(() => filters.value.get('live') !== 'off')
  const limit = computed(() => Math.max(ROWS, Number(filters.value.get('rows')) || 0))
  poll(POLL_MS, () => isLive.peek() && calls.refresh(), signal)

  const set = (changes: Readonly<Record<string, string | undefined>>) =>
    setFilters({ ...changes, rows: undefined })

  const select = (
    label: string,
    name: keyof RequestFilters | 'sort',
    any: string,
    options: readonly (readonly [string, string])[],
  ) => {
    const value = filters.value.get(name) ?? ''
    // A link may name a value that no loaded call has.
    const all =
      value === '' || options.some(([one]) => one === value) ? options : [...options, [value, value] as const]
    return choiceField({
      label,
      value,
      choices: [['', any], ...all],
      set: (chosen) => set({ [name]: chosen }),
    })
  }

  const text = (label: string, name: 'status' | 'text', hint: string, kind = 'text') =>
    field({
      label,
      control: html`<input
        type=${kind}
        placeholder=${hint}
        autocomplete="off"
        spellcheck="false"
        size=${name === 'status' ? 4 : 19}
        .value=${live(filters.value.get(name) ?? '')}
        @input=${(event: Event) => set({ [name]: valueIn(event) })}
      />`,
    })

  const form = (entries: readonly RequestEntry[]): TemplateResult => html`<form
    class="filters"
    role="search"
    aria-label="Filter requests"
    @submit=${(event: Event) => event.preventDefault()}
  >
    ${text('Find', 'text', 'route, code, trace id', 'search')}
    ${select('Kind', 'kind', 'Any', Object.entries(KINDS))}
    ${select('Outcome', 'outcome', 'Any', Object.entries(OUTCOMES))}
    ${select(
      'Application',
      'application',
      'Any',
      choices(
        entries,
        ({ application }) => application && [application.id, application.name ?? application.id],
      ),
    )}
    ${select(
      'Host',
      'host',
      'Any',
      choices(entries, ({ host }) => (host === undefined ? undefined : [host, host])),
    )}
    ${text('Status', 'status', '4xx')}
    ${select('Order', 'sort', 'Newest first', [['slowest', 'Slowest first']])}
    ${
      FILTERS.every((name) => requestFilters.value[name] === undefined)
        ? nothing
        : html`<button type="button" @click=${() => set(Object.fromEntries(FILTERS.map((name) => [name, undefined])))}>
            Clear
          </button>`
    }
  </form>`

  const list = ({ entries, next }: Calls): TemplateResult => {
    const sorted = sortCalls(
      entries.filter((call) => matchesFilters(call, requestFilters.value)),
      filters.value.get('sort'),
    )
    const rows = sorted.slice(0, limit.value)
    // A single slow call should not make all other bars invisible.
    const most =
      quantile(
        rows.map(({ duration_ms }) => duration_ms).sort((a, b) => a - b),
        0.9,
      ) ?? 0
    return html`${table({
      caption: 'Requests',
      columns: columns(most),
      rows,
      key: ({ id }) => id,
      link: ({ id }) => link`/requests/${id}`,
      empty:
        entries.length === 0
          ? html`<p>No calls yet. Send one with <a href="#/try">Try a call</a>.</p>`
          : html`<p>No call of the newest ${count(entries.length)} matches.</p>`,
    })}
    <p class="footer soft">
      <span>
        ${count(sorted.length)} of the newest ${count(entries.length)} calls of this
        node${entries.length === 0 ? nothing : html`, since ${relativeTime(entries.at(-1)?.at)}`}.
      </span>
      <span class="buttons">
        ${
          sorted.length > rows.length
            ? html`<button type="button" @click=${() => setFilters({ rows: String(limit.peek() + ROWS) })}>
                Show more
              </button>`
            : nothing
        }
        ${
          next === undefined
            ? nothing
            : html`<button type="button" ?disabled=${calls.busy.value} @click=${calls.more}>Load older calls</button>`
        }
      </span>
    </p>`
  }

  return {
    actions: () => html`<button
        type="button"
        aria-pressed=${String(isLive.value)}
        @click=${() => {
          setFilters({ live: isLive.peek() ? 'off' : undefined })
          if (isLive.peek()) calls.refresh()
        }}
      >
        ${isLive.value ? 'Pause' : 'Resume'}
      </button>
      ${snippet('GET', '/requests', { query: { size: ROWS } })}`,
    view: () =>
      html`${form(calls.value.value?.entries ?? [])} ${hiddenFiltersNote(context)} ${show(calls, list)}`,
  }
}

/** The list with a filter. */
export const requestsHash = (filters: RequestFilters & { readonly sort?: string }): string =>
  hashOf('/requests', filters)
