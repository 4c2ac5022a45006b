import type { RequestEntry } from '../../api/types.ts'
import { entityChoice } from '../../kit/entity-choice.ts'
import { choiceField, field, issue, valueIn } from '../../kit/form.ts'
import { hiddenFiltersNote } from '../../kit/hidden-filters.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { listOf, showList } from '../../kit/list.ts'
import { count, milliseconds, quantile } from '../../kit/numbers.ts'
import { poll } from '../../kit/poll.ts'
import type { ScreenContext, ScreenInstance } from '../../kit/screen.ts'
import { computed } from '../../kit/signals.ts'
import { snippet } from '../../kit/snippet.ts'
import { type Column, table } from '../../kit/table.ts'
import { fromLocal, relativeTime, toLocal } from '../../kit/time.ts'
import { link } from '../../router.ts'
import { may } from '../../session.ts'
import { FILTERS, isFiltered, KINDS, OUTCOMES, queryOf, type RequestFilter } from './filters.ts'
import { outcomeBadge } from './outcome.ts'
import { sentenceOf } from './sentence.ts'
import { stageBar } from './stages.ts'

const POLL_MS = 3_000
const ROWS = 100
/** Rows that are refreshed. With more, somebody reads older ones, and the list pauses. */
const LIVE_ROWS = 300

/** Filters that are folded away while none of them is set. */
const MORE = ['start_date', 'end_date', 'sort', 'console'] as const

const columns = (most: number): readonly Column<RequestEntry>[] => [
  {
    head: 'Call',
    cell: (call) => html`<span class="call">${relativeTime(call.at)} <span>${sentenceOf(call)}</span></span>`,
  },
  {
    head: 'Outcome',
    cell: (call) =>
      html`<span class="outcome">${outcomeBadge(call)}${
        call.destination_status === undefined || call.destination_status === call.status
          ? nothing
          : html` <span class="soft small">destination ${call.destination_status}</span>`
      }</span>`,
  },
  {
    head: 'Time taken',
    kind: 'number',
    cell: (call) => html`<span class="taken">${stageBar(call, most)}${milliseconds(call.duration_ms)}</span>`,
  },
  {
    head: 'Tokens',
    kind: 'number',
    cell: ({ tokens }) => (tokens === 0 ? nothing : tokens === 1 ? '1 token' : `${count(tokens)} tokens`),
  },
]

const callsTable = (rows: readonly RequestEntry[], empty: TemplateResult): TemplateResult => {
  const times = rows.map(({ duration_ms }) => duration_ms).sort((a, b) => a - b)
  return html`<div class="calls">
    ${table({
      caption: 'Requests',
      // A single slow call should not make all other bars invisible.
      columns: columns(quantile(times, 0.9) ?? 0),
      rows,
      key: ({ id }) => id,
      link: ({ id }) => link`/requests/${id}`,
      empty,
    })}
  </div>`
}

export const openList = (context: ScreenContext): ScreenInstance => {
  const { api, filters, setFilters, signal } = context
  const list = listOf<RequestEntry>({
    ...context,
    path: '/requests',
    query: () => queryOf(filters.value),
    size: ROWS,
  })
  const applications = entityChoice({ api, path: '/applications', allowed: may('application:read'), signal })
  const isLive = computed(() => filters.value.get('live') !== 'off')
  poll(
    POLL_MS,
    () => {
      // A rejected filter stays so.
      if (!isLive.peek() || list.state.peek().kind === 'error') return
      if (list.rows.peek().length > LIVE_ROWS) setFilters({ live: 'off' })
      else list.refresh()
    },
    signal,
  )

  const filterOf = (name: RequestFilter): string => filters.value.get(name) ?? ''
  const set = (name: RequestFilter) => (value: string | undefined) =>
    setFilters({ [name]: value?.trim(), rows: undefined })

  let isMoreOpen = false
  /** Once true, it stays: a form does not fold away what has the focus. */
  const hasMore = (): boolean => {
    isMoreOpen ||= MORE.some((name) => filterOf(name) !== '')
    return isMoreOpen
  }

  /** The sentence of the API about a filter. */
  const errorOf = (name: RequestFilter): string | undefined => {
    const state = list.state.value
    return state.kind === 'error' ? issue(state.error, name) : undefined
  }

  const choice = (
    label: string,
    name: RequestFilter,
    none: string,
    options: Readonly<Record<string, string>>,
  ) => {
    const value = filterOf(name)
    // A link may name another value, which the API then rejects.
    const others = value === '' || Object.hasOwn(options, value) ? [] : [[value, value] as const]
    const choices = [['', none] as const, ...others, ...Object.entries(options)]
    return choiceField({ label, value, choices, set: set(name), error: errorOf(name) })
  }

  // Inputs are not `live`: text being typed outlives a refresh.
  const text = (label: string, name: RequestFilter, hint: string, size: number) =>
    field({
      label,
      error: errorOf(name),
      control: html`<input
        type="search"
        list=${name === 'host' ? 'hosts' : nothing}
        placeholder=${hint}
        autocomplete="off"
        spellcheck="false"
        size=${size}
        .value=${filterOf(name)}
        @change=${(event: Event) => set(name)(valueIn(event))}
      />`,
    })

  const time = (label: string, name: 'start_date' | 'end_date') =>
    field({
      label,
      error: errorOf(name),
      control: html`<input
        type="datetime-local"
        .value=${toLocal(filterOf(name))}
        @change=${(event: Event) => set(name)(fromLocal(valueIn(event)))}
      />`,
    })

  const form = (): TemplateResult => html`<form
    class="filters"
    role="search"
    aria-label="Filter requests"
    @submit=${(event: Event) => event.preventDefault()}
  >
    ${choice('Kind', 'kind', 'Any', KINDS)} ${choice('Outcome', 'outcome', 'Any', OUTCOMES)}
    ${field({
      label: 'Application',
      control: applications.control({
        name: 'application',
        chosen: filterOf('application'),
        none: 'Any',
        change: set('application'),
      }),
    })}
    ${text('Host', 'host', 'api.example.com', 16)} ${text('Status', 'status', '4xx', 5)}
    ${text('Trace id', 'trace_id', '', 16)}
    ${
      isFiltered(filters.value)
        ? html`<button
            type="button"
            @click=${() => setFilters(Object.fromEntries([...FILTERS, 'rows'].map((name) => [name, undefined])))}
          >
            Clear
          </button>`
        : nothing
    }
    <details ?open=${hasMore()}>
      <summary>More filters</summary>
      <div class="filters">
        ${time('From', 'start_date')} ${time('Until', 'end_date')}
        ${choice('Order', 'sort', 'Newest first', { slowest: 'Slowest first' })}
        ${choice("Console's own calls", 'console', 'Hidden', { true: 'Shown' })}
      </div>
    </details>
    <datalist id="hosts">
      ${[...new Set(list.rows.value.map(({ host }) => host))].map((host) => html`<option value=${host ?? nothing}></option>`)}
    </datalist>
  </form>`

  return {
    actions: () => html`<button
        type="button"
        aria-pressed=${String(isLive.value)}
        @click=${() => {
          setFilters({ live: isLive.peek() ? 'off' : undefined, rows: undefined })
          if (isLive.peek()) list.refresh()
        }}
      >
        ${isLive.value ? 'Pause' : 'Resume'}
      </button>
      ${snippet('GET', '/requests', { query: { ...queryOf(filters.value), size: ROWS } })}`,
    view: () =>
      html`${form()} ${hiddenFiltersNote(context)}
      ${showList(list, (rows) =>
        callsTable(
          rows,
          isFiltered(filters.value)
            ? html`<p>No call matches, of the newest 10,000 that each process of this node retains.</p>`
            : html`<p>No calls yet. Send one with <a href="#/try">Try a call</a>.</p>`,
        ),
      )}`,
  }
}
