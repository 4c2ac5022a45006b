import { type NodeCertificate, nodeCertificates } from '../../api/certificates.ts'
import { loadHealth } from '../../api/health.ts'
import { loadMetrics } from '../../api/metrics.ts'
import { problemOf } from '../../api/problem.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { bytes } from '../../kit/numbers.ts'
import { resource, show } from '../../kit/resource.ts'
import { badges } from '../../kit/section.ts'
import { table } from '../../kit/table.ts'
import { when } from '../../kit/time.ts'

interface OpenApi {
  readonly info: { readonly version: string }
  readonly tags: readonly { readonly name: string }[]
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> }
}

interface NodeState {
  readonly version: string
  readonly node: string | undefined
  readonly plugins: readonly string[]
  readonly tokenTypes: readonly string[]
  readonly groups: readonly string[]
  readonly diskFree: number | undefined
  readonly certificates: readonly NodeCertificate[]
  readonly components: Awaited<ReturnType<typeof loadHealth>>['components']
}

const TYPE = 'data.'

const loadNode = async (signal: AbortSignal): Promise<NodeState> => {
  const load = async (): Promise<OpenApi> => {
    const response = await fetch('/openapi.json', { signal, credentials: 'omit' })
    if (!response.ok) throw await problemOf(response)
    return response.json()
  }
  const [api, metrics, { components }] = await Promise.all([load(), loadMetrics(signal), loadHealth(signal)])
  return {
    version: api.info.version,
    node: metrics.of('nodejs_version_info')[0]?.labels.version,
    plugins: metrics.of('plugin_info').map(({ labels }) => `${labels.plugin} ${labels.version}`),
    tokenTypes: Object.keys(api.components.schemas)
      .filter((name) => name.startsWith(TYPE))
      .map((name) => name.slice(TYPE.length)),
    groups: api.tags.map(({ name }) => name),
    diskFree: metrics.sum('data_disk_free_bytes'),
    certificates: nodeCertificates(metrics),
    components,
  }
}

const KINDS = { ok: 'good', degraded: 'warn', failed: 'bad' } as const

const view = (state: NodeState): TemplateResult => html`<dl class="facts">
    <dt>Sidevault</dt><dd>${state.version}</dd>
    ${state.node === undefined ? nothing : html`<dt>Node</dt><dd>${state.node}</dd>`}
    ${state.diskFree === undefined ? nothing : html`<dt>Free on disk</dt><dd>${bytes(state.diskFree)}</dd>`}
    ${state.certificates.map(({ name, ends }) => html`<dt>Certificate “${name}”</dt><dd>${ends === undefined ? 'cannot be read' : html`ends ${when(ends)}`}</dd>`)}
    <dt>Plugins</dt><dd>${badges(state.plugins)}</dd>
    <dt>Token types</dt><dd>${badges(state.tokenTypes)}</dd>
    <dt>Operations</dt><dd>${badges(state.groups)}</dd>
    <dt>Limits</dt>
      <dd>
        <a href="/docs/limits" target="_blank" rel="noopener">All limits</a> and
        <a href="/docs/configuration" target="_blank" rel="noopener">the settings that change them</a>
      </dd>
  </dl>
  <h3>Components</h3>
  ${table({
    caption: 'Components',
    rows: state.components,
    columns: [
      { head: 'Component', cell: ({ name }) => name },
      { head: 'State', cell: ({ status }) => html`<span class=${`badge ${KINDS[status]}`}>${status}</span>` },
      { head: 'Since', cell: ({ since }) => (since === undefined ? nothing : when(since)) },
      { head: 'Not available', kind: 'wide', cell: ({ missing }) => missing?.join(', ') },
    ],
  })}`

/** Versions, plugins' token types and operations, and components of this node. */
export const createNode = (within: AbortSignal): (() => TemplateResult) => {
  const node = resource(loadNode, within)
  return () => show(node, view)
}
