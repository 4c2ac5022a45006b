import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { DrivingIndex, ListPlan } from './plan.ts'
import { allOf, matches, type PredicateContext, searchPredicate, visibilityPredicate } from './predicate.ts'
import { live, tenantTokens } from './statements.ts'
import type { SearchNode, TokenListQuery } from './types.ts'

export type CountQuery = Omit<TokenListQuery, 'size' | 'offset' | 'beforeSeq'>

/** Conditions on container and type only. */
export const groupPredicate = (
  context: PredicateContext,
  plan: ListPlan,
  query: CountQuery,
): RawBuilder<SqlBool> =>
  allOf([
    ...(plan.visibilityIsGrouped ? [visibilityPredicate(context, query.visibility)] : []),
    ...plan.grouped.map((node) => searchPredicate(context, node)),
  ])

/** All other conditions except `but`. */
const restPredicate = (
  context: PredicateContext,
  plan: ListPlan,
  query: CountQuery,
  but: SearchNode | undefined,
): RawBuilder<SqlBool> =>
  allOf([
    ...(plan.visibilityIsGrouped ? [] : [visibilityPredicate(context, query.visibility)]),
    ...plan.rest.filter((node) => node !== but).map((node) => searchPredicate(context, node)),
  ])

/** Live tokens of the tenant that match the plan's `rest`, found by the driving index if there is one. */
export const candidates = (
  context: PredicateContext,
  plan: ListPlan,
  query: CountQuery,
  driving: DrivingIndex | undefined,
) => {
  const { dialect } = context
  const rest = restPredicate(context, plan, query, driving?.node)
  const tokens = tenantTokens(dialect, query.tenantId).where(live(query.now)).where(rest)
  if (driving === undefined) return tokens
  const seqs = sql.join(
    driving.entries.map((entry) => matches(query.tenantId, entry)),
    sql` union `,
  )
  // A cross join is not reordered: https://sqlite.org/optoverview.html#manual_control_of_query_plans_using_cross_join
  return dialect.builder
    .selectFrom(sql<{ seq: number }>`(${seqs})`.as('found'))
    .crossJoin('tokens')
    .whereRef('tokens.seq', '=', 'found.seq')
    .where(dialect.byRowNumber(sql`tokens.tenant_id = ${query.tenantId}`))
    .where(live(query.now))
    .where(rest) as unknown as typeof tokens
}
