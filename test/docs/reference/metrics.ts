import { DURATION_BUCKETS } from '../../../src/common/metrics.ts'
import { sourcesIn } from '../../kit/sources.ts'
import { code, type Page, page, table } from './markdown.ts'

interface Metric {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly labels: readonly string[]
}

const DECLARED =
  /'(?<name>(?:sidevault|nodejs)_[a-z_]+)',\s*(?:type: )?(?:'(?<type>counter|gauge)',\s*)?(?:help:\s*)?(?<help>'[^'\n]{10,}'|"[^"\n]{10,}"),(?:\s*labelNames: \[(?<labels>[^\]]*)\])?/g

/** Labels of metrics whose samples are written without the client's `labelNames`. */
const SAMPLE_LABELS: Readonly<Record<string, readonly string[]>> = {
  sidevault_envoy_responses_total: ['status'],
  sidevault_envoy_tunnel_handshakes_failed_total: ['reason'],
  sidevault_envoy_config_acked: ['kind'],
  sidevault_envoy_config_age_seconds: ['kind'],
  sidevault_envoy_config_nacks_total: ['kind'],
  sidevault_envoy_config_version: ['kind'],
}

/** Every metric that a source file declares: a name, then its help text. */
export const declaredMetrics = (): readonly Metric[] =>
  sourcesIn('src')
    .flatMap(({ text }) =>
      [...text.matchAll(DECLARED)].map(({ groups = {}, index }) => ({
        name: groups.name ?? '',
        help: (groups.help ?? '').slice(1, -1),
        type:
          groups.type ??
          [...text.slice(0, index).matchAll(/new (Gauge|Counter|Histogram)\b/g)].at(-1)?.[1] ??
          'Gauge',
        labels:
          SAMPLE_LABELS[groups.name ?? ''] ??
          [...(groups.labels ?? '').matchAll(/'(\w+)'/g)].map(([, label = '']) => label),
      })),
    )
    .sort((a, b) => (a.name < b.name ? -1 : 1))

export const metrics: Page = {
  name: 'metrics',
  text: () =>
    page(
      'Metrics',
      `\`GET /metrics\` returns the Prometheus text format, without a key. It aggregates all processes of the node. Labels hold names of
routes, stages and types, never an id, a host or a value. Metrics of Node and its processes have the names of prometheus/client_js,
\`nodejs_…\` and \`process_…\`. Quantiles of the event loop's lag are not measured, since that would wake idle processes.

The upper bounds of duration histograms are ${DURATION_BUCKETS.join(', ')} seconds.`,
      table(
        ['Metric', 'Type', 'Labels', 'Meaning'],
        declaredMetrics().map(({ name, type, labels, help }) => [
          code(name),
          type.toLowerCase(),
          labels.map(code).join(', '),
          help,
        ]),
      ),
    ),
}
