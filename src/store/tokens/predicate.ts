import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely'
import { AppError } from '../../common/errors.ts'
import type { Condition } from '../../sdk/index.ts'
import type { Dialect } from '../dialect.ts'
import type { Bound, SearchNode, Visibility } from './types.ts'

type Predicate = RawBuilder<SqlBool>

export interface PredicateContext {
  readonly dialect: Dialect
  readonly tenantId: string
  /** Rows are walked newest first: no index on another column may be chosen. */
  readonly ordered: boolean
}

const ALWAYS: Predicate = sql`1 = 1`
const NEVER: Predicate = sql`1 = 0`
const MAX_DEPTH = 64

/** Joins as a balanced tree: engines limit the depth of expressions. */
const join = (operator: 'and' | 'or', parts: readonly Predicate[]): Predicate => {
  if (parts.length === 0) return operator === 'and' ? ALWAYS : NEVER
  if (parts.length === 1) return parts[0] as Predicate
  const middle = parts.length >> 1
  const left = join(operator, parts.slice(0, middle))
  const right = join(operator, parts.slice(middle))
  return operator === 'and' ? sql`(${left} and ${right})` : sql`(${left} or ${right})`
}

export const allOf = (parts: readonly Predicate[]): Predicate => join('and', parts)

/** Smallest text, by code point, above all texts with `prefix`; undefined when there is none. */
const afterPrefix = (prefix: string): string | undefined => {
  const points = Array.from(prefix, (character) => character.codePointAt(0) as number)
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    if (last >= 0x10ffff) continue
    const next = last + 1 >= 0xd800 && last + 1 <= 0xdfff ? 0xe000 : last + 1
    return String.fromCodePoint(...points, next)
  }
  return undefined
}

/** Columns whose indexes do not return rows newest first. */
const UNORDERED: ReadonlySet<string> = new Set([
  'container',
  'type',
  'created_by',
  'created_at',
  'modified_by',
  'modified_at',
  'expires_at',
])

const column = (context: PredicateContext, field: string): RawBuilder<unknown> =>
  context.ordered && UNORDERED.has(field) ? context.dialect.unindexed(field) : sql`${sql.ref(field)}`

const within = (expression: Expression<unknown>, from: Bound | undefined, to: Bound | undefined): Predicate =>
  allOf([
    ...(from ? [sql<SqlBool>`${expression} ${sql.raw(from.inclusive ? '>=' : '>')} ${from.value}`] : []),
    ...(to ? [sql<SqlBool>`${expression} ${sql.raw(to.inclusive ? '<=' : '<')} ${to.value}`] : []),
  ])

const startsWith = (expression: Expression<unknown>, prefix: string): Predicate => {
  const after = afterPrefix(prefix)
  return within(
    expression,
    { value: prefix, inclusive: true },
    after === undefined ? undefined : { value: after, inclusive: false },
  )
}

const asText = (bound: Bound | undefined): Bound | undefined =>
  bound && { ...bound, value: String(bound.value) }

/** A condition with an index that returns sequence numbers of tokens. */
export type EntryNode =
  | Extract<SearchNode, { kind: 'term' | 'metadata' | 'child' | 'parent' }>
  | (Extract<SearchNode, { kind: 'equals' | 'range' }> & {
      readonly field: 'created_by' | 'created_at' | 'modified_by' | 'modified_at'
    })

/**
 * Query for sequence numbers of a node's tokens. `byRowNumber` wraps a condition that is redundant once a number is
 * known.
 */
export const matches = (
  tenantId: string,
  node: EntryNode | Extract<SearchNode, { kind: 'metadata-range' }>,
  byRowNumber: Dialect['byRowNumber'] = (condition) => condition,
): RawBuilder<{ seq: number }> => {
  switch (node.kind) {
    case 'equals':
      return sql`select seq from tokens where tenant_id = ${tenantId} and ${sql.ref(node.field)} = ${node.value}`
    case 'range':
      return sql`select seq from tokens where tenant_id = ${tenantId} and ${within(sql.ref(node.field), node.from, node.to)}`
    case 'child':
      return sql`select child_seq as seq from token_associations where parent_seq = ${node.parentSeq} and tenant_id = ${tenantId}`
    case 'parent':
      return sql`select parent_seq as seq from token_associations where child_seq = ${node.childSeq} and tenant_id = ${tenantId}`
    case 'term':
      return sql`select seq from token_terms where tenant_id = ${tenantId} and term = ${node.term}`
    case 'metadata':
      return sql`select seq from token_metadata where tenant_id = ${tenantId} and key = ${node.key} and value = ${node.value}`
    case 'metadata-range':
      return sql`select seq from token_metadata where ${byRowNumber(sql`tenant_id = ${tenantId}`)} and key = ${node.key} and ${within(sql.ref('value'), asText(node.from), asText(node.to))}`
  }
}

/** A search as a condition on a row of `tokens`, or of `token_counts` (see `isGrouped`). */
export const searchPredicate = (context: PredicateContext, node: SearchNode, depth = 0): Predicate => {
  if (depth > MAX_DEPTH)
    throw new AppError('invalid', 'The search is nested too deeply. Remove some parentheses.')
  const inner = (child: SearchNode) => searchPredicate(context, child, depth + 1)
  switch (node.kind) {
    case 'and':
    case 'or':
      return join(node.kind, node.nodes.map(inner))
    case 'not':
      return sql`not ${context.dialect.unknownIsFalse(inner(node.node))}`
    case 'equals':
      return sql`${column(context, node.field)} = ${node.value}`
    case 'prefix':
      return startsWith(column(context, node.field), node.value)
    case 'range':
      return within(column(context, node.field), node.from, node.to)
    case 'term':
    case 'child':
    case 'parent':
    case 'metadata':
    case 'metadata-range': {
      const { dialect, tenantId, ordered } = context
      // For a total of a value range, a hash of all values costs a third.
      const how = node.kind === 'metadata-range' && !ordered ? sql`` : dialect.rowByRow
      return sql`exists (select 1 from (${matches(tenantId, node, dialect.byRowNumber)}) as found
        where found.seq = tokens.seq ${how})`
    }
  }
}

const conditionPredicate = (
  context: PredicateContext,
  { attribute, operator, value }: Condition,
): Predicate =>
  operator === 'equals'
    ? sql`${column(context, attribute)} = ${value}`
    : startsWith(column(context, attribute), value)

/** Visibility of a caller as a condition; matches nothing without alternatives. */
export const visibilityPredicate = (context: PredicateContext, visibility: Visibility): Predicate =>
  visibility === 'all'
    ? ALWAYS
    : join(
        'or',
        visibility.map((conditions) =>
          allOf(conditions.map((condition) => conditionPredicate(context, condition))),
        ),
      )

/** True when the node depends on container and type only, so that `token_counts` suffices. */
export const isGrouped = (node: SearchNode): boolean => {
  switch (node.kind) {
    case 'and':
    case 'or':
      return node.nodes.every(isGrouped)
    case 'not':
      return isGrouped(node.node)
    case 'equals':
    case 'range':
      return node.field === 'container' || node.field === 'type'
    case 'prefix':
      return node.field === 'container'
    default:
      return false
  }
}

export const isGroupedVisibility = (visibility: Visibility): boolean =>
  visibility === 'all' ||
  visibility.every((conditions) => conditions.every(({ attribute }) => attribute === 'container'))
