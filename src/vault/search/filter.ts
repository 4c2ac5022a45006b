import { parseScope } from '../../common/containers.ts'
import { invalid } from '../../common/errors.ts'
import type { TokenFilter } from '../../sdk/index.ts'
import type { SearchNode } from '../../store/tokens/types.ts'
import { parseQuery } from './parser.ts'

/** Values of one filter member. */
const VALUES = 100

type Equality = 'id' | 'type' | 'fingerprint'

const anyOf = (nodes: readonly SearchNode[]): SearchNode =>
  nodes.length === 1 ? (nodes[0] as SearchNode) : { kind: 'or', nodes }

const containerNode = (path: string): SearchNode => {
  const scope = parseScope(path)
  if (scope === undefined) throw invalid({ container: ['must be a path such as /pci/high/'] })
  return { kind: 'prefix', field: 'container', value: scope }
}

/** A list's filters and query as one condition; undefined when there is none. Containers include those below them. */
export const filterNode = (filter: TokenFilter, term: (text: string) => Buffer): SearchNode | undefined => {
  const nodes: SearchNode[] = []
  const bounded = (name: string, values: readonly string[] | undefined): readonly string[] => {
    if (values && values.length > VALUES)
      throw invalid({ [name]: [`must not have more than ${VALUES} values`] })
    return values ?? []
  }
  const equality = (field: Equality, values: readonly string[] | undefined) => {
    const wanted = bounded(field, values)
    if (wanted.length > 0) nodes.push(anyOf(wanted.map((value) => ({ kind: 'equals', field, value }))))
  }
  equality('id', filter.ids)
  equality('type', filter.types)
  equality('fingerprint', filter.fingerprints)
  const containers = bounded('container', filter.containers)
  if (containers.length > 0) nodes.push(anyOf(containers.map(containerNode)))
  const metadata = Object.entries(filter.metadata ?? {})
  if (metadata.length > VALUES) throw invalid({ metadata: [`must not have more than ${VALUES} entries`] })
  for (const [key, value] of metadata) nodes.push({ kind: 'metadata', key, value })
  if (filter.query !== undefined && filter.query.trim() !== '') nodes.push(parseQuery(filter.query, term))
  if (nodes.length === 0) return undefined
  return nodes.length === 1 ? (nodes[0] as SearchNode) : { kind: 'and', nodes }
}
