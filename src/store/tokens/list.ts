import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Session } from '../session.ts'
import type { TokenListQuery } from '../types.ts'
import { type ListPlan, planList } from './plan.ts'
import { allOf, matches, type PredicateContext, searchPredicate, visibilityPredicate } from './predicate.ts'
import { TOKEN_COLUMNS, type TokenRecord } from './row.ts'
import { live, tenantTokens } from './statements.ts'

/** A list of more groups than this walks all tokens of the tenant and passes over those it does not show. */
const MAX_MERGED = 16

interface Group {
  readonly container: string
  readonly type: string
}

type CountQuery = Omit<TokenListQuery, 'size' | 'offset' | 'beforeSeq'>

/** Conditions on container and type only. */
const groupPredicate = (context: PredicateContext, plan: ListPlan, query: CountQuery): RawBuilder<SqlBool> =>
  allOf([
    ...(plan.visibilityIsGrouped ? [visibilityPredicate(context, query.visibility)] : []),
    ...plan.grouped.map((node) => searchPredicate(context, node)),
  ])

/** All other conditions. */
const restPredicate = (context: PredicateContext, plan: ListPlan, query: CountQuery): RawBuilder<SqlBool> =>
  allOf([
    ...(plan.visibilityIsGrouped ? [] : [visibilityPredicate(context, query.visibility)]),
    ...plan.rest.map((node) => searchPredicate(context, node)),
  ])

/** Live tokens of the tenant for which the plan's `rest` holds, led to by its entries if it has any. */
const candidates = (context: PredicateContext, plan: ListPlan, query: CountQuery) => {
  const { dialect } = context
  const tokens = tenantTokens(dialect, query.tenantId)
    .where(live(query.now))
    .where(restPredicate(context, plan, query))
  if (plan.entries.length === 0) return tokens
  const seqs = sql.join(
    plan.entries.map((entry) => matches(query.tenantId, entry)),
    sql` union `,
  )
  // A cross join is not reordered: https://sqlite.org/optoverview.html#manual_control_of_query_plans_using_cross_join
  return dialect.builder
    .selectFrom(sql<{ seq: number }>`(${seqs})`.as('found'))
    .crossJoin('tokens')
    .whereRef('tokens.seq', '=', 'found.seq')
    .where('tokens.tenant_id', '=', query.tenantId)
    .where(live(query.now))
    .where(restPredicate(context, plan, query)) as unknown as typeof tokens
}

/** The groups whose streams make up the list; undefined when the list is found another way. */
const groupsOf = async (
  session: Session,
  plan: ListPlan,
  query: CountQuery,
): Promise<readonly Group[] | undefined> => {
  const narrowed = plan.grouped.length > 0 || (plan.visibilityIsGrouped && query.visibility !== 'all')
  if (!narrowed || plan.selective || plan.entries.length > 0) return undefined
  const { dialect } = session
  const context = { dialect, tenantId: query.tenantId, ordered: false }
  const groups = await session.query(
    dialect.builder
      .selectFrom('token_counts')
      .where('tenant_id', '=', query.tenantId)
      .where('count', '>', 0)
      .where(groupPredicate(context, plan, query))
      .select(['container', 'type'])
      .limit(MAX_MERGED + 1),
    query.tenantId,
  )
  return groups.length > MAX_MERGED ? undefined : groups
}

/** What the page is put in order by. Where an id or a fingerprint leads, no index may be picked for its order instead. */
const orderOf = ({ dialect }: PredicateContext, plan: ListPlan): RawBuilder<unknown> => {
  if (plan.entries.length > 0) return sql`found.seq`
  return plan.selective ? dialect.unindexed('tokens.seq') : sql`tokens.seq`
}

/** Newest first. */
export const listTokens = async (
  session: Session,
  query: TokenListQuery,
): Promise<readonly TokenRecord[]> => {
  if (query.size <= 0) return []
  const plan = planList(query)
  const groups = await groupsOf(session, plan, query)
  if (groups?.length === 0) return []
  const context = { dialect: session.dialect, tenantId: query.tenantId, ordered: true }
  const orderBy = orderOf(context, plan)

  const page = () => {
    const base = candidates(context, plan, query).select(
      TOKEN_COLUMNS.map((name) => `tokens.${name}` as const),
    )
    return query.beforeSeq === undefined ? base : base.where(sql<SqlBool>`${orderBy} < ${query.beforeSeq}`)
  }

  if (groups === undefined) {
    const walk = page()
      .where(groupPredicate(context, plan, query))
      .orderBy(orderBy, 'desc')
      .limit(query.size)
    return session.query(query.offset ? walk.offset(query.offset) : walk, query.tenantId)
  }
  const streams = groups.map(({ container, type }) =>
    page().where('tokens.container', '=', container).where('tokens.type', '=', type),
  )
  const merged = streams
    .slice(1)
    .reduce((union, stream) => union.unionAll(stream), streams[0] as ReturnType<typeof page>)
    .orderBy('seq', 'desc')
    .limit(query.size)
  return session.query(query.offset ? merged.offset(query.offset) : merged, query.tenantId)
}

/** How many tokens a list has in all; without a scan when container and type alone decide it. */
export const countTokens = async (session: Session, query: CountQuery): Promise<number> => {
  const { dialect } = session
  const { builder } = dialect
  const plan = planList(query)
  const context = { dialect, tenantId: query.tenantId, ordered: false }
  const inGroups = groupPredicate(context, plan, query)

  if (plan.visibilityIsGrouped && plan.rest.length === 0 && plan.entries.length === 0) {
    const expired = builder
      .selectFrom('tokens')
      .where('expires_at', '<=', query.now)
      .where(sql<SqlBool>`${dialect.unindexed('tenant_id')} = ${query.tenantId}`)
      .where(groupPredicate({ ...context, ordered: true }, plan, query))
      .select(sql<number>`count(*)`.as('expired'))
    const [row] = await session.query(
      builder
        .selectFrom('token_counts')
        .where('tenant_id', '=', query.tenantId)
        .where(inGroups)
        .select(sql<number>`coalesce(sum(count), 0) - (${expired})`.as('total')),
      query.tenantId,
    )
    return Number(row?.total ?? 0)
  }
  const [row] = await session.query(
    candidates(context, plan, query).where(inGroups).select(sql<number>`count(*)`.as('total')),
    query.tenantId,
  )
  return Number(row?.total ?? 0)
}
