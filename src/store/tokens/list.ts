import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Session } from '../session.ts'
import type { TokenHead, TokenListQuery } from '../types.ts'
import { leaderOf, placesIn } from './lead.ts'
import { type Leader, type ListPlan, planList } from './plan.ts'
import type { PredicateContext } from './predicate.ts'
import { BYTES, HEAD_COLUMNS } from './row.ts'
import { candidates, groupPredicate } from './rows.ts'

/** A list of more groups than this walks all tokens of the tenant and passes over those it does not show. */
const MAX_MERGED = 16

interface Group {
  readonly container: string
  readonly type: string
}

/** The groups whose streams make up the list; undefined when the list is found another way. */
const groupsOf = async (
  session: Session,
  plan: ListPlan,
  query: TokenListQuery,
  leader: Leader | undefined,
): Promise<readonly Group[] | undefined> => {
  const narrowed = plan.grouped.length > 0 || (plan.visibilityIsGrouped && query.visibility !== 'all')
  if (!narrowed || plan.selective || leader) return undefined
  const { dialect } = session
  const context = { dialect, tenantId: query.tenantId, ordered: false }
  const groups = await session.search(
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
const orderOf = (
  { dialect }: PredicateContext,
  plan: ListPlan,
  leader: Leader | undefined,
): RawBuilder<unknown> => {
  if (leader) return sql`found.seq`
  return plan.selective ? dialect.unindexed('tokens.seq') : sql`tokens.seq`
}

/** Newest first. */
export const listTokens = async (session: Session, query: TokenListQuery): Promise<readonly TokenHead[]> => {
  if (query.size <= 0) return []
  const plan = planList(query)
  const leader = await leaderOf(session, plan, query)
  const groups = await groupsOf(session, plan, query, leader)
  if (groups?.length === 0) return []
  const places = leader || plan.selective ? undefined : await placesIn(session, plan, query)
  if (places === 'nowhere') return []
  const context = { dialect: session.dialect, tenantId: query.tenantId, ordered: true }
  const orderBy = orderOf(context, plan, leader)

  const page = () => {
    let base = candidates(context, plan, query, leader).select([...HEAD_COLUMNS, BYTES.as('bytes')])
    if (query.beforeSeq !== undefined) {
      const before = Math.min(query.beforeSeq, (places?.last ?? Infinity) + 1)
      base = base.where(sql<SqlBool>`${orderBy} < ${before}`)
      // Said of both: an engine that merges would walk the tokens from the newest one on.
      if (leader) base = base.where('tokens.seq', '<', before)
    } else if (places) base = base.where(sql<SqlBool>`${orderBy} <= ${places.last}`)
    return places ? base.where(sql<SqlBool>`${orderBy} >= ${places.first}`) : base
  }

  if (groups === undefined) {
    const walk = page()
      .where(groupPredicate(context, plan, query))
      .orderBy(orderBy, 'desc')
      .limit(query.size)
    return session.search(query.offset ? walk.offset(query.offset) : walk, query.tenantId)
  }
  const streams = groups.map(({ container, type }) =>
    session.dialect.stream(
      page().where('tokens.container', '=', container).where('tokens.type', '=', type),
      (query.offset ?? 0) + query.size,
    ),
  )
  const merged = streams
    .slice(1)
    .reduce((union, stream) => union.unionAll(stream), streams[0] as ReturnType<typeof page>)
    .orderBy('seq', 'desc')
    .limit(query.size)
  return session.search(query.offset ? merged.offset(query.offset) : merged, query.tenantId)
}
