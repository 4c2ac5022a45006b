import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parser } from '@prometheus-io/lezer-promql'
import t from 'tap'
import { parse } from 'yaml'
import { sharedSidevault } from '../kit/shared-sidevault.ts'
import { root } from '../kit/sources.ts'

const folder = join(root, 'examples/monitoring')
const text = (name: string) => readFileSync(join(folder, name), 'utf8')

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[]
}
interface Dashboard {
  readonly panels: readonly {
    readonly title: string
    readonly targets: readonly { readonly expr: string }[]
  }[]
}

/** Expressions by their place, with values in the place of Grafana's variables. */
const expressions: readonly (readonly [place: string, expression: string])[] = [
  ...(parse(text('alerts.yaml')) as Rules).groups.flatMap(({ rules }) =>
    rules.map(({ alert, expr }) => [alert, expr] as const),
  ),
  ...(JSON.parse(text('dashboard.json')) as Dashboard).panels.flatMap(({ title, targets }) =>
    targets.map(
      ({ expr }) => [title, expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.+')] as const,
    ),
  ),
]

/** Names of metrics, names of labels and syntax errors in an expression of PromQL. */
const namesIn = (expression: string) => {
  const [metrics, labels, errors] = [new Set<string>(), new Set<string>(), [] as number[]]
  parser.parse(expression).iterate({
    enter: ({ name, from, to, node, type }) => {
      const word = expression.slice(from, to)
      if (type.isError) errors.push(from)
      if (name === 'Identifier' && node.parent?.name === 'VectorSelector') metrics.add(word)
      if (name === 'LabelName') labels.add(word)
    },
  })
  return { metrics: [...metrics], labels: [...labels], errors }
}

/** Offered by a service with SIDEVAULT_REDIS_URL, which this one has not. */
const WITH_REDIS = 'sidevault_redis_up'

/** Labels that Prometheus adds, and that of histograms. */
const LABELS = ['instance', 'le']

t.test('each metric of rules and dashboard is offered by a running service', async (t) => {
  const { call } = await sharedSidevault()
  const response = await call('GET', '/metrics')
  const types = new Map(
    [...response.text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]),
  )
  t.notOk(types.has(WITH_REDIS))
  const offered = new Set(
    [...types, [WITH_REDIS, 'gauge'] as const].flatMap(([name, type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  )
  const labels = new Set([
    ...LABELS,
    ...[...response.text.matchAll(/(\w+)="/g)].map(([, name = '']) => name),
    ...[...readFileSync(join(root, 'docs/reference/metrics.md'), 'utf8').matchAll(/`(\w+)`/g)].map(
      ([, name = '']) => name,
    ),
  ])
  t.ok(expressions.length > 25)
  for (const [place, expression] of expressions) {
    const used = namesIn(expression)
    t.same(used.errors, [], `${place}: ${expression}`)
    t.ok(used.metrics.length > 0, place)
    for (const name of used.metrics) t.ok(offered.has(name), `${place}: ${name}`)
    for (const name of used.labels) t.ok(labels.has(name), `${place}: ${name}`)
  }
})

t.test('an expression with an error, or with another metric, is found', async (t) => {
  t.same(namesIn('sum by (kind) (rate(a_total{b="c"}[5m])) > 1'), {
    metrics: ['a_total'],
    labels: ['kind', 'b'],
    errors: [],
  })
  t.ok(namesIn('sum by (kind (a)').errors.length > 0)
})

const hasPromtool = spawnSync('promtool', ['--version']).status === 0

t.test(
  'Prometheus accepts configuration and rules',
  hasPromtool ? {} : { skip: 'promtool is not installed, so only the syntax of expressions was checked' },
  async (t) => {
    t.match(
      execFileSync('promtool', ['check', 'config', 'prometheus.yaml'], { cwd: folder, encoding: 'utf8' }),
      /SUCCESS/,
    )
  },
)
