import { type Component, loadHealth } from '../../api/health.ts'
import { loadMetrics } from '../../api/metrics.ts'
import { problemOf } from '../../api/problem.ts'
import type { LogEntry } from '../../api/types.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import type { ListResponse } from '../../kit/list.ts'
import { decimal, milliseconds } from '../../kit/numbers.ts'
import { resource, show } from '../../kit/resource.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { badges, facts } from '../../kit/section.ts'
import { relativeTime } from '../../kit/time.ts'
import { may } from '../../session.ts'
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
  /** Consumers and jobs of plugins, and all else of plugins that reports how it is. */
  readonly contributions: readonly Component[]
}

const loadNode = async (signal: AbortSignal): Promise<NodeState> => {
  const load = async (): Promise<OpenApi> => {
    const response = await fetch('/openapi.json', { signal, credentials: 'omit' })
    if (!response.ok) throw await problemOf(response)
    return response.json()
  }
  const [api, metrics, health] = await Promise.all([load(), loadMetrics(signal), loadHealth(signal)])
  return {
    version: api.info.version,
    node: metrics.of('nodejs_version_info')[0]?.labels.version,
    plugins: metrics.of('plugin_info').map(({ labels }) => `${labels.plugin} ${labels.version}`),
    tokenTypes: typesOf(api).map(({ name }) => name),
    groups: api.tags.map(({ name }) => name),
    contributions: health.components.filter(({ name }) => name.includes(':')),
  }
}

const lastRun = ({ last_run, outcome, duration_ms, lag_seconds = 0 }: Component): TemplateResult | string => {
  if (last_run === undefined) return 'has not run yet'
  const lag = lag_seconds > 0 ? html`, ${decimal(lag_seconds)} s behind` : nothing
  return html`${outcome} ${relativeTime(last_run)}${duration_ms === undefined ? nothing : html` in ${milliseconds(duration_ms)}`}${lag}`
}

const stateOf = (component: Component): TemplateResult => {
  const isTask = /^(?:consumer|job):/.test(component.name)
  const state = isTask ? lastRun(component) : component.status
  return html`${state}${component.detail === undefined ? nothing : `: ${component.detail}`}`
}

const view = ({ version, node, plugins, tokenTypes, groups, contributions }: NodeState): TemplateResult =>
  facts([
    ['Sidevault', version],
    ['Node', node],
    ['Plugins', badges(plugins)],
    ['Token types', badges(tokenTypes)],
    ['Operations', badges(groups)],
    ...contributions.map((component) => [component.name.replace(':', ' '), stateOf(component)] as const),
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

interface Keys {
  /** ms since the epoch. */
  readonly root: number | undefined
  /** ISO 8601; undefined: the audit log has no rotation. */
  readonly data: string | undefined
}

/** When the root key and the tenant's data key were last changed. */
export const createKeys = ({ api, signal: within }: ScreenContext): (() => TemplateResult) => {
  const dataKey = async (signal: AbortSignal): Promise<string | undefined> => {
    const query = { entity_type: 'tenant', size: 100 }
    const { data } = await api.call<ListResponse<LogEntry>>('GET', '/logs', { query, signal })
    return data.find(({ message }) => message.startsWith('Data key rotated'))?.created_at
  }
  const keys = resource(async (signal): Promise<Keys> => {
    const [metrics, data] = await Promise.all([
      loadMetrics(signal),
      may('log:read') ? dataKey(signal) : undefined,
    ])
    const seconds = metrics.sum('root_key_created_timestamp_seconds')
    // 0: not read yet.
    return { root: seconds ? seconds * 1_000 : undefined, data }
  }, within)

  return () =>
    show(
      keys,
      ({ root, data }) => html`${facts([
        ['Root key', root === undefined ? 'not known yet' : html`in use since ${relativeTime(root)}`],
        [
          'Data key of the tenant',
          may('log:read')
            ? data === undefined
              ? 'no rotation in the audit log'
              : html`rotated ${relativeTime(data)}`
            : undefined,
        ],
      ])}
        <p class="small soft">
          Keys are changed on the command line:
          <a href="/docs/keys-and-backup" target="_blank" rel="noopener">keys and backup</a>.
        </p>`,
    )
}
