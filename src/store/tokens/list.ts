import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Session } from '../session.ts'
import type { TokenHead, TokenListQuery } from '../types.ts'
import { leaderOf, type Places, placeBehind, placesOf } from './driving-index.ts'
import { type Leader, type ListPlan, planList } from './plan.ts'
import type { PredicateContext } from './predicate.ts'
import { candidates, groupPredicate } from './rows.ts'
import { BYTES, HEAD_COLUMNS } from './token-row.ts'

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

/** Tokens that a walk may pass over before it is worth while to look where those of a range of times lie. */
const NEAR = 2_000

/** Newest first. */
export const listTokens = async (session: Session, query: TokenListQuery): Promise<readonly TokenHead[]> => {
  if (query.size <= 0) return []
  const plan = planList(query)
  const leader = await leaderOf(session, plan, query)
  const groups = await groupsOf(session, plan, query, leader)
  if (groups?.length === 0) return []
  const { tenantId, size, offset = 0, beforeSeq } = query
  const context = { dialect: session.dialect, tenantId, ordered: true }
  const orderBy = orderOf(context, plan, leader)

  const walk = (places: Partial<Places>): Promise<readonly TokenHead[]> => {
    const page = () => {
      const last = Math.min(places.last ?? Infinity, (beforeSeq ?? Infinity) - 1)
      let base = candidates(context, plan, query, leader).select([...HEAD_COLUMNS, BYTES.as('bytes')])
      if (last < Infinity) {
        base = base.where(sql<SqlBool>`${orderBy} <= ${last}`)
        // Said of both: an engine that merges would walk the tokens from the newest one on.
        if (leader) base = base.where('tokens.seq', '<=', last)
      }
      return places.first ? base.where(sql<SqlBool>`${orderBy} >= ${places.first}`) : base
    }
    if (groups === undefined) {
      const rows = page()
        .where(groupPredicate(context, plan, query))
        .orderBy(orderBy, 'desc')
        .limit(size)
      return session.search(offset > 0 ? rows.offset(offset) : rows, tenantId)
    }
    const streams = groups.map(({ container, type }) =>
      session.dialect.stream(
        page().where('tokens.container', '=', container).where('tokens.type', '=', type),
        offset + size,
      ),
    )
    const merged = streams
      .slice(1)
      .reduce((union, stream) => union.unionAll(stream), streams[0] as ReturnType<typeof page>)
      .orderBy('seq', 'desc')
      .limit(size)
    return session.search(offset > 0 ? merged.offset(offset) : merged, tenantId)
  }

  if (plan.created.length === 0 || leader || plan.selective) return walk({})
  const near = await placeBehind(session, query, NEAR + offset)
  const page = await walk({ first: near })
  if (near === 0 || page.length === size) return page
  const places = await placesOf(session, plan, tenantId)
  return places ? walk(places) : []
}
