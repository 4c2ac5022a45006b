import type { Destinations } from '../../api/types.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { count, decimal, milliseconds, percent } from '../../kit/numbers.ts'
import { bars, plot } from '../../kit/plot.ts'
import { poll } from '../../kit/poll.ts'
import { resource } from '../../kit/resource.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { relativeTime } from '../../kit/time.ts'
import { requestsHash } from '../requests/filters.ts'
import { type CallStatistics, callStatistics, timeRange } from './figures.ts'
import { failureNotices } from './notices.ts'
import { showLatest } from './outage.ts'
import { type LoadedCalls, loadCalls } from './recent-calls.ts'

const POLL_MS = 5_000

/** Minutes that a reader may choose. */
export const MINUTES = [5, 15, 60] as const
const HOSTS = 8

export const minutesOf = (filters: URLSearchParams): number =>
  MINUTES.find((minutes) => String(minutes) === filters.get('minutes')) ?? 15

const figure = (
  label: string,
  value: string,
  href: string,
  drawing: TemplateResult,
  note: string,
): TemplateResult => html`<section class="card figure" aria-label=${label}>
  <h3>${label}</h3>
  <p class="value"><a href=${href}>${value}</a> <span class="soft small">${note}</span></p>
  ${drawing}
</section>`

const orNone = (value: number | undefined, format: (value: number) => string): string =>
  value === undefined ? '–' : format(value)

const figures = (
  course: CallStatistics,
  minutes: number,
  span: { from: number; to: number },
): TemplateResult => {
  const { all } = course
  const rate = (value: number) => `${decimal(value)}/s`
  const start_date = new Date(span.from).toISOString()
  return html`<div class="cards">
    ${figure(
      'Calls per second',
      all.perSecond < 10 ? all.perSecond.toFixed(2) : decimal(all.perSecond),
      requestsHash({ start_date }),
      plot({
        ...span,
        figure: all.perSecond,
        title: `Calls per second, last ${minutes} minutes`,
        format: rate,
        series: [{ label: 'Calls', points: course.perSecond }],
      }),
      `${count(all.calls)} calls`,
    )}
    ${figure(
      'Time in Sidevault, p99',
      orNone(all.p99, milliseconds),
      requestsHash({ sort: 'slowest', start_date }),
      plot({
        ...span,
        figure: all.p99,
        title: `Time of calls, last ${minutes} minutes`,
        format: milliseconds,
        series: [
          { label: 'p50', points: course.p50 },
          { label: 'p99', points: course.p99 },
        ],
      }),
      `p50 ${orNone(all.p50, milliseconds)}`,
    )}
    ${figure(
      'Failed',
      orNone(all.failedShare, percent),
      requestsHash({ outcome: 'failed', start_date }),
      plot({
        ...span,
        figure: all.failedShare,
        title: `Share of calls that failed, last ${minutes} minutes`,
        format: percent,
        series: [{ label: 'Failed', points: course.failedShare }],
      }),
      `${count(all.failed)} calls`,
    )}
  </div>`
}

/** Figures of the newest calls of this node. */
export const createCalls = ({ api, filters, signal }: ScreenContext) => {
  const calls = loadCalls(api, signal)
  poll(POLL_MS, calls.refresh, signal)

  const course = ({ entries, next, at: now }: LoadedCalls): TemplateResult => {
    const minutes = minutesOf(filters.value)
    const span = timeRange(minutes, now)
    const statistics = callStatistics(entries, span, { now, isAll: next === undefined })
    return html`${figures(statistics, minutes, span)}
    ${
      statistics.coveredFrom > span.from
        ? html`<p class="soft small">
            There are more calls than are read: figures are of the newest ${count(entries.length)}, since
            ${relativeTime(statistics.coveredFrom)}.
          </p>`
        : nothing
    }`
  }

  const destinations = resource(async (signal) => {
    const options = { signal, background: true }
    return { ...(await api.call<Destinations>('GET', '/requests/destinations', options)), at: Date.now() }
  }, signal)
  poll(POLL_MS, destinations.refresh, signal)

  const disclosures = ({ since, data }: Destinations): TemplateResult => {
    const hosts = data.filter(({ host }) => host !== '*')
    const rest = [...hosts.slice(HOSTS), ...data.filter(({ host }) => host === '*')]
    const sum = (destinations: Destinations['data']) =>
      destinations.reduce((all, { tokens }) => all + tokens, 0)
    return html`${
      data.length === 0
        ? html`<p class="soft">No value left for a destination.</p>`
        : bars(
            'Values that left, by destination',
            [
              ...hosts.slice(0, HOSTS).map(({ host, tokens }) => ({
                label: host,
                value: tokens,
                href: requestsHash({ host }),
              })),
              ...(rest.length > 0 ? [{ label: 'Others', value: sum(rest) }] : []),
            ],
            count,
          )
    }
    <p class="soft small">${count(sum(data))} values in all, by this node, since ${relativeTime(since)}.</p>`
  }

  return {
    sources: [calls, destinations],
    notices: () => {
      const { entries = [], at = 0 } = calls.value.value ?? {}
      return failureNotices(entries, at)
    },
    course: () => showLatest(calls, course),
    disclosures: () => showLatest(destinations, disclosures),
  }
}
