import { type EntryNode, isGrouped, isGroupedVisibility } from './predicate.ts'
import type { SearchNode, TokenListQuery } from './types.ts'

/** Query plan of a list. All parts of `grouped` and `rest` must match. */
export interface ListPlan {
  /** Conditions on container and type only, except visibility. */
  readonly grouped: readonly SearchNode[]
  readonly visibilityIsGrouped: boolean
  readonly rest: readonly SearchNode[]
  /** Parts of `rest` with an index, ordered by expected selectivity. */
  readonly drivingIndexes: readonly DrivingIndex[]
  /** `rest` contains an id or a fingerprint, which match few tokens. */
  readonly selective: boolean
  /** Parts of `rest` on the creation time only. */
  readonly created: readonly SearchNode[]
}

export interface DrivingIndex {
  readonly node: SearchNode
  /** Alternatives. */
  readonly entries: readonly EntryNode[]
}

/** Alternatives of one driving index: engines limit the number of unions in one query. */
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

/** Kinds of entries, by expected selectivity. */
const RANKS = [
  'child',
  'parent',
  'term',
  'metadata',
  'equals',
  'range',
] as const satisfies EntryNode['kind'][]

const isTime = ({ field }: Extract<SearchNode, { kind: 'range' }>): boolean =>
  field === 'created_at' || field === 'modified_at'

const isEntry = (node: SearchNode): node is EntryNode => {
  if (node.kind === 'equals') return node.field === 'created_by' || node.field === 'modified_by'
  if (node.kind === 'range') return isTime(node) && (node.from ?? node.to) !== undefined
  return ['child', 'parent', 'term', 'metadata'].includes(node.kind)
}

const rankOf = ({ entries }: DrivingIndex): number =>
  Math.min(...entries.map(({ kind }) => RANKS.indexOf(kind)))

const drivingIndexOf = (node: SearchNode): readonly DrivingIndex[] => {
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
    drivingIndexes: rest.flatMap(drivingIndexOf).sort((a, b) => rankOf(a) - rankOf(b)),
    selective: rest.some(isSelective),
    created: rest.filter((node) => node.kind === 'range' && node.field === 'created_at'),
  }
}
