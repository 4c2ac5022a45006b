import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Session } from '../session.ts'
import { drivingIndexOf, type SeqRange, seqAtOffset, seqRangeOf } from './driving-index.ts'
import { type DrivingIndex, type ListPlan, planList } from './plan.ts'
import type { PredicateContext } from './predicate.ts'
import { candidates, groupPredicate } from './rows.ts'
import { BYTES, HEAD_COLUMNS } from './token-row.ts'
import type { TokenHead, TokenListQuery } from './types.ts'

/** A list of more groups walks all tokens of the tenant and filters them. */
const MAX_MERGED = 16

interface Group {
  readonly container: string
  readonly type: string
}

/** Groups whose streams are merged; undefined when the list is found another way. */
const groupsOf = async (
  session: Session,
  plan: ListPlan,
  query: TokenListQuery,
  driving: DrivingIndex | undefined,
): Promise<readonly Group[] | undefined> => {
  const narrowed = plan.grouped.length > 0 || (plan.visibilityIsGrouped && query.visibility !== 'all')
  if (!narrowed || plan.selective || driving) return undefined
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

/** Sort key of the page. With an id or a fingerprint, no index may be chosen for its order. */
const orderOf = (
  { dialect }: PredicateContext,
  plan: ListPlan,
  driving: DrivingIndex | undefined,
): RawBuilder<unknown> => {
  if (driving) return sql`found.seq`
  return plan.selective ? dialect.unindexed('tokens.seq') : sql`tokens.seq`
}

/** Tokens that a walk may skip before the range of sequence numbers of a time range is looked up. */
const NEAR = 2_000

/** Newest first. */
export const listTokens = async (session: Session, query: TokenListQuery): Promise<readonly TokenHead[]> => {
  if (query.size <= 0) return []
  const plan = planList(query)
  const driving = await drivingIndexOf(session, plan, query)
  const groups = await groupsOf(session, plan, query, driving)
  if (groups?.length === 0) return []
  const { tenantId, size, offset = 0, beforeSeq } = query
  const context = { dialect: session.dialect, tenantId, ordered: true }
  const orderBy = orderOf(context, plan, driving)

  const walk = (range: Partial<SeqRange>): Promise<readonly TokenHead[]> => {
    const page = () => {
      const last = Math.min(range.last ?? Infinity, (beforeSeq ?? Infinity) - 1)
      let base = candidates(context, plan, query, driving).select([...HEAD_COLUMNS, BYTES.as('bytes')])
      if (last < Infinity) {
        base = base.where(sql<SqlBool>`${orderBy} <= ${last}`)
        // On both columns: with a merge join the engine would walk the tokens from the newest one.
        if (driving) base = base.where('tokens.seq', '<=', last)
      }
      return range.first ? base.where(sql<SqlBool>`${orderBy} >= ${range.first}`) : base
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

  if (plan.created.length === 0 || driving || plan.selective) return walk({})
  const near = await seqAtOffset(session, query, NEAR + offset)
  const page = await walk({ first: near })
  if (near === 0 || page.length === size) return page
  const range = await seqRangeOf(session, plan, tenantId)
  return range ? walk(range) : []
}
