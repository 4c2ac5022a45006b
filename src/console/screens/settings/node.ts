import { loadMetrics } from '../../api/metrics.ts'
import { problemOf } from '../../api/problem.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { resource, show } from '../../kit/resource.ts'
import { badges } from '../../kit/section.ts'
import { type Description, typesOf } from '../tokens/create.ts'

interface OpenApi extends Description {
  readonly info: { readonly version: string }
  readonly tags: readonly { readonly name: string }[]
}

interface NodeState {
  readonly version: string
  readonly node: string | undefined
  readonly plugins: readonly string[]
  readonly tokenTypes: readonly string[]
  readonly groups: readonly string[]
}

const loadNode = async (signal: AbortSignal): Promise<NodeState> => {
  const load = async (): Promise<OpenApi> => {
    const response = await fetch('/openapi.json', { signal, credentials: 'omit' })
    if (!response.ok) throw await problemOf(response)
    return response.json()
  }
  const [api, metrics] = await Promise.all([load(), loadMetrics(signal)])
  return {
    version: api.info.version,
    node: metrics.of('nodejs_version_info')[0]?.labels.version,
    plugins: metrics.of('plugin_info').map(({ labels }) => `${labels.plugin} ${labels.version}`),
    tokenTypes: typesOf(api).map(({ name }) => name),
    groups: api.tags.map(({ name }) => name),
  }
}

const view = (state: NodeState): TemplateResult => html`<dl class="facts">
  <dt>Sidevault</dt><dd>${state.version}</dd>
  ${state.node === undefined ? nothing : html`<dt>Node</dt><dd>${state.node}</dd>`}
  <dt>Plugins</dt><dd>${badges(state.plugins)}</dd>
  <dt>Token types</dt><dd>${badges(state.tokenTypes)}</dd>
  <dt>Operations</dt><dd>${badges(state.groups)}</dd>
  <dt>Limits</dt>
  <dd>
    <a href="/docs/limits" target="_blank" rel="noopener">All limits</a> and
    <a href="/docs/configuration" target="_blank" rel="noopener">the settings that change them</a>
  </dd>
  <dt>State</dt>
  <dd><a href="#/overview">Components, certificates and disk</a></dd>
</dl>`

/** Versions of this node, with plugins, token types and operations. Its state is on the overview. */
export const createNode = (within: AbortSignal): (() => TemplateResult) => {
  const node = resource(loadNode, within)
  return () => show(node, view)
}
