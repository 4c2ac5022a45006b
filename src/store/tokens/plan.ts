import type { SearchNode, TokenListQuery } from '../types.ts'
import { isGrouped, isGroupedVisibility } from './predicate.ts'

type Entry = Extract<SearchNode, { kind: 'term' | 'metadata' | 'child' }>

/** How the tokens of a list are found. All parts of `grouped` and `rest` must hold. */
export interface ListPlan {
  /** What container and type alone decide, visibility apart. */
  readonly grouped: readonly SearchNode[]
  readonly visibilityIsGrouped: boolean
  readonly rest: readonly SearchNode[]
  /** Associations, blind terms or metadata entries of which one must hold, taken out of `rest`: their rows lead to the tokens. */
  readonly entries: readonly Entry[]
  /** An id or a fingerprint in `rest` leads to few tokens. */
  readonly selective: boolean
}

const LEADERS = ['child', 'term', 'metadata'] as const

const conjuncts = (node: SearchNode | undefined): readonly SearchNode[] => {
  if (node === undefined) return []
  return node.kind === 'and' ? node.nodes.flatMap(conjuncts) : [node]
}

const alternatives = (node: SearchNode): readonly SearchNode[] =>
  node.kind === 'or' ? node.nodes.flatMap(alternatives) : [node]

const isSelective = (node: SearchNode): boolean => {
  const parts = alternatives(node)
  const [first] = parts
  if (first?.kind !== 'equals' || (first.field !== 'id' && first.field !== 'fingerprint')) return false
  return parts.every((part) => part.kind === 'equals' && part.field === first.field)
}

const entriesOf = (node: SearchNode, kind: Entry['kind']): readonly Entry[] | undefined => {
  const parts = alternatives(node)
  if (parts.length === 0 || !parts.some((part) => part.kind === kind)) return undefined
  return parts.every((part) => part.kind === 'term' || part.kind === 'metadata' || part.kind === 'child')
    ? parts
    : undefined
}

export const planList = ({ visibility, where }: Pick<TokenListQuery, 'visibility' | 'where'>): ListPlan => {
  const all = conjuncts(where)
  const grouped = all.filter(isGrouped)
  const rest = all.filter((node) => !isGrouped(node))
  const selective = rest.some(isSelective)
  // From those expected to match the fewest tokens on.
  const leader = selective
    ? undefined
    : LEADERS.map((kind) => rest.find((node) => entriesOf(node, kind))).find((node) => node !== undefined)
  return {
    grouped,
    visibilityIsGrouped: isGroupedVisibility(visibility),
    rest: rest.filter((node) => node !== leader),
    entries: leader ? (LEADERS.map((kind) => entriesOf(leader, kind)).find((found) => found) ?? []) : [],
    selective,
  }
}
