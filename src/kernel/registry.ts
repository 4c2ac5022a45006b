import type { Operation, Plugin, Ports, TokenType, WithHealth } from '../sdk/index.ts'
import { entityTypesOf } from './entity-types.ts'
import { deepFreeze } from './freeze.ts'
import { orderByRequirement } from './order.ts'
import type { HealthSource, LoadedPlugin, Registry, Task } from './types.ts'

const tasksOf = ({ plugin: { name: plugin }, contribution }: LoadedPlugin): readonly Task[] => [
  ...(contribution.consumers ?? []).map(
    (consumer): Task => ({ kind: 'consumer', plugin, name: `${plugin}/${consumer.name}`, consumer }),
  ),
  ...(contribution.jobs ?? []).map(
    (job): Task => ({ kind: 'job', plugin, name: `${plugin}/${job.name}`, job }),
  ),
]

/** The contributions that report how they are. */
const healthOf = ({ plugin: { name: plugin }, contribution }: LoadedPlugin): readonly HealthSource[] => {
  const { consumers = [], jobs = [], checks = [], tokenTypes = [] } = contribution
  const source = (kind: HealthSource['kind'], name: string, item: WithHealth): readonly HealthSource[] =>
    item.health === undefined
      ? []
      : [{ kind, plugin, component: `${kind}:${name}`, health: item.health.bind(item) }]
  return [
    ...consumers.flatMap((consumer) => source('consumer', `${plugin}/${consumer.name}`, consumer)),
    ...jobs.flatMap((job) => source('job', `${plugin}/${job.name}`, job)),
    ...checks.flatMap((check) => source('check', check.name, check)),
    ...tokenTypes.flatMap((type) => source('token-type', type.name, type)),
  ]
}

/** All declarations of checked plugins, in the order in which they start; frozen. */
export const createRegistry = (loaded: readonly LoadedPlugin[]): Registry => {
  const byPlugin = new Map<Plugin, LoadedPlugin>(loaded.map((each) => [each.plugin, each]))
  const plugins = orderByRequirement(loaded.map(({ plugin }) => plugin)).ordered.map(
    (plugin) => byPlugin.get(plugin)!,
  )
  const operations = plugins.flatMap(({ contribution }) => contribution.operations ?? []) as Operation[]
  const types = plugins.flatMap(({ contribution }) => contribution.tokenTypes ?? []) as TokenType[]
  const permissions = plugins.flatMap(({ contribution }) => contribution.permissions ?? [])
  const checks = plugins.flatMap(({ plugin, contribution }) =>
    (contribution.checks ?? []).map((check) => ({ plugin: plugin.name, check })),
  )
  for (const each of [...operations, ...types, ...permissions, ...checks]) deepFreeze(each)
  const tokenTypes = new Map(types.map((type) => [type.name, type]))
  const ports: Partial<Ports> = Object.assign(
    {},
    ...plugins.map(({ contribution }) => contribution.ports ?? {}),
  )
  return Object.freeze({
    plugins: Object.freeze(plugins),
    operations: Object.freeze(operations),
    tokenTypes,
    permissions: Object.freeze(permissions),
    entityTypes: Object.freeze(
      entityTypesOf(
        types,
        operations,
        plugins.flatMap(({ contribution }) => contribution.entities ?? []),
      ),
    ),
    ports: Object.freeze(ports),
    checks: Object.freeze(checks),
    tasks: Object.freeze(plugins.flatMap(tasksOf)),
    health: Object.freeze(plugins.flatMap(healthOf)),
  })
}
