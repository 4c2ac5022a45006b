import type { SearchNode } from '../types.ts'
import type { Bits } from './bits.ts'
import { isGrouped } from './predicate.ts'
import { entryOf } from './tallies.ts'
import { timeRangeOf } from './times.ts'

/** A search over sets of tokens: `leaf` names one of them. */
export type Formula =
  | { readonly kind: 'leaf'; readonly leaf: number }
  | { readonly kind: 'and' | 'or'; readonly of: readonly Formula[] }
  | { readonly kind: 'not'; readonly of: Formula }

/** What a formula's leaves may be, as parts of a search. */
const isLeaf = (node: SearchNode): boolean =>
  isGrouped(node) || entryOf(node) !== undefined || timeRangeOf(node)?.event === 'created'

/** Every part of a search that is a leaf, or neither `and`, `or` nor `not`. */
export const partsOf = (node: SearchNode): readonly SearchNode[] => {
  if (isLeaf(node)) return [node]
  if (node.kind === 'and' || node.kind === 'or') return node.nodes.flatMap(partsOf)
  return node.kind === 'not' ? partsOf(node.node) : [node]
}

/** `leaves`: in their order; what is not among them is empty. */
export const formulaOf = (node: SearchNode, leaves: readonly SearchNode[]): Formula => {
  const leaf = leaves.indexOf(node)
  if (leaf >= 0) return { kind: 'leaf', leaf }
  if (node.kind === 'and' || node.kind === 'or')
    return { kind: node.kind, of: node.nodes.map((child) => formulaOf(child, leaves)) }
  return node.kind === 'not' ? { kind: 'not', of: formulaOf(node.node, leaves) } : { kind: 'or', of: [] }
}

/** The tokens that a formula finds. `sets`: by leaf, each of `every`'s length, and not to be changed; `every`: all tokens. */
export const evaluate = (formula: Formula, sets: readonly Bits[], every: Bits): Bits => {
  switch (formula.kind) {
    case 'leaf':
      return sets[formula.leaf] as Bits
    case 'not': {
      const found = evaluate(formula.of, sets, every).slice()
      for (let at = 0; at < found.length; at++) found[at] = every[at]! & ~found[at]!
      return found
    }
    case 'and': {
      const found = every.slice()
      for (const part of formula.of) {
        const bits = evaluate(part, sets, every)
        for (let at = 0; at < found.length; at++) found[at]! &= bits[at]!
      }
      return found
    }
    case 'or': {
      const found = new Uint32Array(every.length)
      for (const part of formula.of) {
        const bits = evaluate(part, sets, every)
        for (let at = 0; at < found.length; at++) found[at]! |= bits[at]!
      }
      return found
    }
  }
}
