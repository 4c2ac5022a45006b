import { nodeCertificates } from '../../api/certificates.ts'
import { type Component, type Health, loadHealth } from '../../api/health.ts'
import { loadMetrics, type Metrics } from '../../api/metrics.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { bytes, decimal } from '../../kit/numbers.ts'
import { poll } from '../../kit/poll.ts'
import { resource } from '../../kit/resource.ts'
import { facts } from '../../kit/section.ts'
import { relativeTime } from '../../kit/time.ts'
import { chainOf } from '../audit/chain.ts'
import { type Notice, noticesOf } from './notices.ts'
import { type Outage, outageNotice, showLatest } from './outage.ts'

/** /readyz and /metrics check components of all processes: less often than calls are read. */
const POLL_MS = 10_000

interface Node {
  readonly health: Health
  readonly metrics: Metrics
  readonly at: number
}

const READY: Readonly<Record<Health['status'], readonly [kind: string, text: string]>> = {
  ok: ['good', 'Ready'],
  degraded: ['warn', 'Ready, degraded'],
  failed: ['bad', 'Not ready'],
}

const STATES: Readonly<Record<Component['status'], readonly [kind: string, text: string]>> = {
  ok: ['good', 'ok'],
  degraded: ['warn', 'degraded'],
  failed: ['bad', 'failed'],
}

const noticeItem = ({ kind, text, at, href }: Notice): TemplateResult => html`<li class=${kind}>
  <span class=${`badge ${kind}`}>${kind === 'bad' ? 'Error' : 'Warning'}</span>
  <a href=${href}>${text}</a> ${at === undefined ? nothing : relativeTime(at)}
</li>`

const readiness = ({ health, metrics, at }: Node, ofCalls: readonly Notice[]): TemplateResult => {
  const notices = [...ofCalls, ...noticesOf(health, metrics, at)]
  const [kind, text] = READY[health.status]
  return html`<div class=${`readiness ${kind}`}>
    <p><strong>${text}</strong>${notices.length === 0 ? html` <span class="soft">Nothing needs attention.</span>` : nothing}</p>
    ${notices.length === 0 ? nothing : html`<ul>${notices.map(noticeItem)}</ul>`}
  </div>`
}

/** `isPast`: the states are those before an outage. */
const components = ({ health }: Node, isPast: boolean): TemplateResult => html`<ul class="components">
  ${health.components.map(({ name, status, since }) => {
    const [kind, text] = STATES[status]
    return html`<li>
      <span>${name}</span>
      <span><span class=${isPast ? 'badge' : `badge ${kind}`}>${isPast ? 'was ' : ''}${text}</span>${since === undefined ? nothing : html` <span class="soft small">since ${relativeTime(since)}</span>`}</span>
    </li>`
  })}
</ul>`

const nodeFacts = ({ metrics, health }: Node): TemplateResult => {
  const { backlog, verifiedAt } = chainOf(metrics, health)
  const free = metrics.sum('data_disk_free_bytes')
  return facts([
    ...nodeCertificates(metrics).map(
      ({ name, ends }) =>
        [
          `Certificate “${name}”`,
          ends === undefined ? 'cannot be read' : html`ends ${relativeTime(ends)}`,
        ] as const,
    ),
    [
      'Audit chain verified',
      html`<a href="#/audit">${verifiedAt === undefined ? 'not yet' : relativeTime(verifiedAt)}</a>`,
    ],
    ['Audit backlog', backlog === undefined ? undefined : html`<a href="#/audit">${decimal(backlog)} s</a>`],
    ['Disk free', free === undefined ? undefined : bytes(free)],
  ])
}

/** State of this node: notices, components and facts. */
export const createNode = (signal: AbortSignal) => {
  const node = resource(async (within): Promise<Node> => {
    const [health, metrics] = await Promise.all([loadHealth(within), loadMetrics(within)])
    return { health, metrics, at: Date.now() }
  }, signal)
  poll(POLL_MS, node.refresh, signal)
  const shown = (view: (node: Node) => TemplateResult) =>
    node.value.value === undefined ? html`` : view(node.value.value)
  return {
    node,
    /** `ofCalls`: notices about calls. */
    notices: (ofCalls: readonly Notice[], outage: Outage | undefined) =>
      outage === undefined ? showLatest(node, (loaded) => readiness(loaded, ofCalls)) : outageNotice(outage),
    components: (isPast: boolean) => shown((loaded) => components(loaded, isPast)),
    facts: () => shown(nodeFacts),
  }
}
