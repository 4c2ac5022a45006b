import type { SearchNode, TokenListQuery } from '../types.ts'
import { type EntryNode, isGrouped, isGroupedVisibility } from './predicate.ts'

/** How the tokens of a list are found. All parts of `grouped` and `rest` must hold. */
export interface ListPlan {
  /** What container and type alone decide, visibility apart. */
  readonly grouped: readonly SearchNode[]
  readonly visibilityIsGrouped: boolean
  readonly rest: readonly SearchNode[]
  /** Parts of `rest` that rows of an index lead to, from those expected to match the fewest tokens on. */
  readonly leaders: readonly Leader[]
  /** An id or a fingerprint in `rest` leads to few tokens. */
  readonly selective: boolean
  /** Parts of `rest` that say something of the time of creation, and nothing else. */
  readonly created: readonly SearchNode[]
}

export interface Leader {
  readonly node: SearchNode
  /** Of which one must hold. */
  readonly entries: readonly EntryNode[]
}

/** Of one leader: engines limit how many rows of indexes one query unites. */
const MAX_ENTRIES = 100

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

/** Kinds of entries, from those expected to match the fewest tokens on. */
const RANKS = ['child', 'term', 'metadata', 'equals', 'range'] as const satisfies EntryNode['kind'][]

const isTime = ({ field }: Extract<SearchNode, { kind: 'range' }>): boolean =>
  field === 'created_at' || field === 'modified_at'

const isEntry = (node: SearchNode): node is EntryNode => {
  if (node.kind === 'equals') return node.field === 'created_by' || node.field === 'modified_by'
  if (node.kind === 'range') return isTime(node) && (node.from ?? node.to) !== undefined
  return node.kind === 'term' || node.kind === 'metadata' || node.kind === 'child'
}

const rankOf = ({ entries }: Leader): number => Math.min(...entries.map(({ kind }) => RANKS.indexOf(kind)))

const leaderOf = (node: SearchNode): readonly Leader[] => {
  const parts = alternatives(node)
  return parts.length > 0 && parts.length <= MAX_ENTRIES && parts.every(isEntry)
    ? [{ node, entries: parts }]
    : []
}

export const planList = ({ visibility, where }: Pick<TokenListQuery, 'visibility' | 'where'>): ListPlan => {
  const all = conjuncts(where)
  const rest = all.filter((node) => !isGrouped(node))
  return {
    grouped: all.filter(isGrouped),
    visibilityIsGrouped: isGroupedVisibility(visibility),
    rest,
    leaders: rest.flatMap(leaderOf).sort((a, b) => rankOf(a) - rankOf(b)),
    selective: rest.some(isSelective),
    created: rest.filter((node) => node.kind === 'range' && node.field === 'created_at'),
  }
}
