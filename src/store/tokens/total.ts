import { type RawBuilder, sql } from 'kysely'
import type { Session } from '../session.ts'
import type { SearchNode } from '../types.ts'
import { countByBitmaps } from './bitmap-total.ts'
import { expired } from './expired.ts'
import { longLeaderOf, placesIn, shortLeaderOf } from './lead.ts'
import { type ListPlan, planList } from './plan.ts'
import { type CountQuery, candidates, groupPredicate } from './rows.ts'
import { common, entryOf } from './tallies.ts'
import { countInRange, intersect, timeRangeOf } from './times.ts'

type Sum = RawBuilder<number>

/** All of one event, as one range. */
const oneRange = (nodes: readonly SearchNode[]) => {
  const [first, ...others] = nodes.map(timeRangeOf)
  if (first === undefined) return undefined
  let range = first
  for (const other of others) {
    if (other === undefined || other.event !== range.event) return undefined
    range = intersect(range, other)
  }
  return range
}

/**
 * Token rows for which all of `nodes` hold, of the groups that the plan allows, as a sum of what is counted; undefined
 * when nothing counts them.
 */
const summed = async (
  session: Session,
  plan: ListPlan,
  query: CountQuery,
  nodes: readonly SearchNode[],
): Promise<Sum | undefined> => {
  const { dialect } = session
  const { builder } = dialect
  const { tenantId } = query
  const groups = groupPredicate({ dialect, tenantId, ordered: false }, plan, query)
  const [node, another] = nodes
  if (node === undefined)
    return sql`(${builder
      .selectFrom('token_counts')
      .where('tenant_id', '=', tenantId)
      .where(groups)
      .select(sql<number>`coalesce(sum(count), 0)`.as('count'))})`

  const range = oneRange(nodes)
  if (range) {
    const ordered = groupPredicate({ dialect, tenantId, ordered: true }, plan, query)
    return countInRange({ dialect, tenantId, groups }, range, ordered)
  }
  if (another) return undefined
  if (node.kind === 'not') {
    const [all, those] = [
      await summed(session, plan, query, []),
      await summed(session, plan, query, [node.node]),
    ]
    return all && those && sql`(${all} - ${those})`
  }
  const entry = entryOf(node)
  if (entry === undefined || (await common(session, tenantId, [node])).size === 0) return undefined
  return sql`(${builder
    .selectFrom('token_tallies')
    .where('tenant_id', '=', tenantId)
    .where('entry', '=', entry)
    .where(groups)
    .select(sql<number>`coalesce(sum(count), 0)`.as('count'))})`
}

/**
 * How many tokens a list has in all. Sums, without a look at rows, where container and type alone decide it, besides them
 * a range of times, or one value that many tokens have, or the contrary of one of these.
 */
export const countTokens = async (session: Session, query: CountQuery): Promise<number> => {
  const plan = planList(query)
  const sum = plan.visibilityIsGrouped ? await summed(session, plan, query, plan.rest) : undefined
  if (sum) {
    const total = sql<number>`${sum} - ${expired(session, plan, query)}`
    const [row] = await session.search(
      session.dialect.builder.selectNoFrom(total.as('total')),
      query.tenantId,
    )
    return Number(row?.total ?? 0)
  }
  const short = await shortLeaderOf(session, plan, query)
  const byBitmaps = plan.selective || short ? undefined : await countByBitmaps(session, plan, query)
  if (byBitmaps !== undefined) return byBitmaps
  const leader = short ?? longLeaderOf(plan)
  const places = leader || plan.selective ? undefined : await placesIn(session, plan, query)
  if (places === 'nowhere') return 0
  const context = { dialect: session.dialect, tenantId: query.tenantId, ordered: false }
  let rows = candidates(context, plan, query, leader).where(groupPredicate(context, plan, query))
  if (places) rows = rows.where('tokens.seq', '>=', places.first).where('tokens.seq', '<=', places.last)
  const [row] = await session.search(rows.select(sql<number>`count(*)`.as('total')), query.tenantId)
  return Number(row?.total ?? 0)
}
