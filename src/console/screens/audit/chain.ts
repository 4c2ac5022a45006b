import { type Health, loadHealth } from '../../api/health.ts'
import { loadMetrics, type Metrics } from '../../api/metrics.ts'
import { html, type TemplateResult } from '../../kit/html.ts'
import { bytes, decimal } from '../../kit/numbers.ts'
import { poll } from '../../kit/poll.ts'
import { resource, show } from '../../kit/resource.ts'
import { figures, section } from '../../kit/section.ts'
import { relativeTime } from '../../kit/time.ts'

interface Chain {
  readonly state: 'intact' | 'broken' | 'not verified yet'
  /** ms since the epoch. */
  readonly verifiedAt: number | undefined
  readonly brokenJournals: number
  /** Seconds that the oldest record has waited to be stored. */
  readonly backlog: number | undefined
  readonly journalBytes: number | undefined
  /** Components of the audit log that are not `ok`. */
  readonly components: Health['components']
}

/** The audit chain, as figures and components report it. */
export const chainOf = (metrics: Pick<Metrics, 'sum'>, { components }: Pick<Health, 'components'>): Chain => {
  const brokenJournals =
    (metrics.sum('audit_rows_broken_journals') ?? 0) + (metrics.sum('audit_journals_broken') ?? 0)
  const verified = metrics.sum('audit_rows_verified_timestamp_seconds') ?? 0
  return {
    state: brokenJournals > 0 ? 'broken' : verified > 0 ? 'intact' : 'not verified yet',
    verifiedAt: verified > 0 ? verified * 1_000 : undefined,
    brokenJournals,
    backlog: metrics.sum('audit_backlog_seconds'),
    journalBytes: metrics.sum('audit_journal_bytes'),
    components: components.filter(
      ({ name, status }) => ['audit', 'journal'].includes(name) && status !== 'ok',
    ),
  }
}

const KINDS = { intact: 'good', broken: 'bad', 'not verified yet': '' } as const

const view = (chain: Chain): TemplateResult => html`${figures([
  { label: 'State', value: html`<span class=${`badge ${KINDS[chain.state]}`}>${chain.state}</span>` },
  { label: 'Last verified', value: relativeTime(chain.verifiedAt) },
  { label: 'Backlog', value: chain.backlog === undefined ? '–' : `${decimal(chain.backlog)} s` },
  { label: 'Journal files', value: chain.journalBytes === undefined ? '–' : bytes(chain.journalBytes) },
])}
  ${
    chain.state === 'broken'
      ? html`<p class="problem" role="alert">
          The audit chain is broken. Run <code>sidevault audit verify --rows</code> on the node.
          <a href="/docs/operations#a-broken-audit-journal" target="_blank" rel="noopener">What to do</a>
        </p>`
      : html``
  }
  ${chain.components.map(
    ({ name, status, since }) =>
      html`<p class="stale">Component <code>${name}</code> is ${status} since ${relativeTime(since)}.</p>`,
  )}`

/** State of the audit chain of this node, read every 15 seconds. */
export const createChain = (signal: AbortSignal): (() => TemplateResult) => {
  const chain = resource(async (within) => {
    const [metrics, health] = await Promise.all([loadMetrics(within), loadHealth(within)])
    return chainOf(metrics, health)
  }, signal)
  poll(15_000, chain.refresh, signal)
  return () => section('chain', 'Chain of this node', show(chain, view))
}
