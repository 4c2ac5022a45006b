import type { Operation } from '../../sdk/index.ts'
import type { LoadedPlugin } from '../types.ts'
import { type Issue, issuesAt } from './issues.ts'
import { routeKey } from './operation.ts'
import { placeOf } from './plugin.ts'

type Keys = (loaded: LoadedPlugin) => readonly string[]

const operations = ({ contribution }: LoadedPlugin): readonly Operation[] => contribution.operations ?? []

/** Entities that are unique in the service: their name, their keys, and the fix for two. */
const UNIQUE: readonly { readonly kind: string; readonly keys: Keys; readonly fix: string }[] = [
  {
    kind: 'operation',
    keys: (loaded) => operations(loaded).map(({ rpc }) => String(rpc)),
    fix: 'Rename one.',
  },
  {
    kind: 'route',
    keys: (loaded) => operations(loaded).map(({ http }) => routeKey(String(http))),
    fix: 'Give one another path; names of path members do not tell routes apart.',
  },
  {
    kind: 'token type',
    keys: ({ contribution }) => (contribution.tokenTypes ?? []).map(({ name }) => String(name)),
    fix: 'Rename one, or remove its plugin.',
  },
  {
    kind: 'collection',
    keys: ({ contribution }) => (contribution.collections ?? []).map(({ name }) => String(name)),
    fix: 'Rename one; a prefix of its plugin helps.',
  },
  {
    kind: 'filter',
    keys: ({ contribution }) => Object.keys(contribution.filters ?? {}),
    fix: 'Rename one.',
  },
  {
    kind: 'permission',
    keys: ({ contribution }) => (contribution.permissions ?? []).map(({ type }) => String(type)),
    fix: 'Let one plugin declare it; others may use it.',
  },
  ...(['consumers', 'jobs'] as const).map((tasks) => ({
    kind: tasks.slice(0, -1),
    keys: ({ plugin, contribution }: LoadedPlugin) =>
      (contribution[tasks] ?? []).map(({ name }) => `${plugin.name}/${name}`),
    fix: 'Rename one.',
  })),
  {
    kind: 'open port',
    keys: ({ plugin, contribution }) =>
      (contribution.openPorts ?? []).map(({ name }) => `${plugin.name}/${name}`),
    fix: 'Rename one.',
  },
  {
    kind: 'port',
    keys: ({ contribution }) => Object.keys(contribution.ports ?? {}),
    fix: 'Remove one of the plugins: a port has one provider.',
  },
  {
    kind: 'check',
    keys: ({ contribution }) => (contribution.checks ?? []).map(({ name }) => String(name)),
    fix: 'Rename one.',
  },
]

/** Issues between plugins: duplicate names, ports with two providers, unknown collections. */
export const checkConflicts = (loaded: readonly LoadedPlugin[], issues: Issue[]): void => {
  for (const { kind, keys, fix: remedy } of UNIQUE) {
    const owners = new Map<string, string>()
    for (const each of loaded)
      for (const key of keys(each)) {
        const place = placeOf(each.plugin)
        const owner = owners.get(key)
        if (owner === undefined) owners.set(key, place)
        else
          issuesAt(`${place} › ${kind} "${key}"`, issues).add(
            owner === place ? 'the same plugin has it twice.' : `${owner} has it too.`,
            remedy,
          )
      }
  }
  const collections = new Set(
    loaded.flatMap(({ contribution }) => (contribution.collections ?? []).map(({ name }) => name)),
  )
  for (const { plugin, contribution } of loaded)
    for (const port of ['credentials', 'sessions', 'console'] as const)
      for (const name of contribution.ports?.[port]?.collections ?? [])
        if (!collections.has(name))
          issuesAt(`${placeOf(plugin)} › port "${port}"`, issues).add(
            `it watches the collection "${name}", which no plugin declares.`,
            'Declare it, or correct the name.',
          )
}
