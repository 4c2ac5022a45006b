import { loadMetrics } from '../../api/metrics.ts'
import { problemOf } from '../../api/problem.ts'
import { html, type TemplateResult } from '../../kit/html.ts'
import { resource, show } from '../../kit/resource.ts'
import { badges, facts } from '../../kit/section.ts'
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

const view = ({ version, node, plugins, tokenTypes, groups }: NodeState): TemplateResult =>
  facts([
    ['Sidevault', version],
    ['Node', node],
    ['Plugins', badges(plugins)],
    ['Token types', badges(tokenTypes)],
    ['Operations', badges(groups)],
    [
      'Limits',
      html`<a href="/docs/limits" target="_blank" rel="noopener">All limits</a> and
        <a href="/docs/configuration" target="_blank" rel="noopener">the settings that change them</a>`,
    ],
    ['State', html`<a href="#/overview">Components, certificates and disk</a>`],
  ])

/** Versions of this node, with plugins, token types and operations. Its state is on the overview. */
export const createNode = (within: AbortSignal): (() => TemplateResult) => {
  const node = resource(loadNode, within)
  return () => show(node, view)
}
