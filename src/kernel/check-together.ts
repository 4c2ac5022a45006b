import type { Operation } from '../sdk/index.ts'
import { routeKey } from './check-operation.ts'
import { placeOf } from './check-plugin.ts'
import { type Fault, faultsAt } from './faults.ts'
import type { LoadedPlugin } from './types.ts'

type Keys = (loaded: LoadedPlugin) => readonly string[]

const operations = ({ contribution }: LoadedPlugin): readonly Operation[] => contribution.operations ?? []

/** What may exist once in the whole service: how it is called, its keys, and what to do about two. */
const UNIQUE: readonly { readonly kind: string; readonly keys: Keys; readonly remedy: string }[] = [
  {
    kind: 'operation',
    keys: (loaded) => operations(loaded).map(({ rpc }) => String(rpc)),
    remedy: 'Rename one.',
  },
  {
    kind: 'route',
    keys: (loaded) => operations(loaded).map(({ http }) => routeKey(String(http))),
    remedy: 'Give one another path; names of path members do not tell routes apart.',
  },
  {
    kind: 'token type',
    keys: ({ contribution }) => (contribution.tokenTypes ?? []).map(({ name }) => String(name)),
    remedy: 'Rename one, or remove its plugin.',
  },
  {
    kind: 'collection',
    keys: ({ contribution }) => (contribution.collections ?? []).map(({ name }) => String(name)),
    remedy: 'Rename one; a prefix of its plugin helps.',
  },
  {
    kind: 'filter',
    keys: ({ contribution }) => Object.keys(contribution.filters ?? {}),
    remedy: 'Rename one.',
  },
  {
    kind: 'permission',
    keys: ({ contribution }) => (contribution.permissions ?? []).map(({ type }) => String(type)),
    remedy: 'Let one plugin declare it; others may use it.',
  },
  {
    kind: 'port',
    keys: ({ contribution }) => Object.keys(contribution.ports ?? {}),
    remedy: 'Remove one of the plugins: a port has one provider.',
  },
]

/** Faults between plugins: names taken twice, ports provided twice, collections that nobody has. */
export const checkTogether = (loaded: readonly LoadedPlugin[], faults: Fault[]): void => {
  for (const { kind, keys, remedy } of UNIQUE) {
    const owners = new Map<string, string>()
    for (const each of loaded)
      for (const key of keys(each)) {
        const place = placeOf(each.plugin)
        const owner = owners.get(key)
        if (owner === undefined) owners.set(key, place)
        else
          faultsAt(`${place} › ${kind} "${key}"`, faults).add(
            owner === place ? 'the same plugin has it twice.' : `${owner} has it too.`,
            remedy,
          )
      }
  }
  const collections = new Set(
    loaded.flatMap(({ contribution }) => (contribution.collections ?? []).map(({ name }) => name)),
  )
  for (const { plugin, contribution } of loaded)
    for (const port of ['credentials', 'sessions'] as const)
      for (const name of contribution.ports?.[port]?.collections ?? [])
        if (!collections.has(name))
          faultsAt(`${placeOf(plugin)} › port "${port}"`, faults).add(
            `it watches the collection "${name}", which no plugin declares.`,
            'Declare it, or correct the name.',
          )
}
