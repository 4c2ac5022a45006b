import { sql } from 'kysely'
import type { Session } from '../session.ts'
import type { Leader, ListPlan } from './plan.ts'
import { allOf, matches, type PredicateContext, searchPredicate } from './predicate.ts'
import type { CountQuery } from './rows.ts'

/** As many tokens are put in order for a page; more are met on a walk from the newest one on. */
const FEW = 2_000

/** By at most so many entries of an index for each value: in its order, or PostgreSQL might walk the table instead. */
const leadsToFew = async (session: Session, tenantId: string, { entries }: Leader): Promise<boolean> => {
  const counts = entries.map((entry) => {
    const order = sql.ref(entry.kind === 'range' ? entry.field : 'seq')
    return sql`select count(*) as count from (${matches(tenantId, entry)} order by ${order} limit ${FEW + 1}) as few`
  })
  const [row] = await session.search(
    session.dialect.builder
      .selectFrom(sql<{ count: number }>`(${sql.join(counts, sql` union all `)})`.as('found'))
      .select(sql<number>`sum(count)`.as('count')),
    tenantId,
  )
  return Number(row?.count ?? 0) <= FEW
}

/** What leads to many tokens in the order of a list: the first, unless times narrow it. */
const longLeaderOf = (plan: ListPlan): Leader | undefined => {
  const [first] = plan.leaders
  const [entry, another] = first?.entries ?? []
  // Neither a range of times nor one of several values is in an order that a list could be walked in.
  const ordered = another === undefined && entry?.kind !== 'range'
  return ordered && plan.created.length === 0 ? first : undefined
}

/** What leads to the tokens of a list: the first of its leaders that leads to few, or one whose tokens are in order. */
export const leaderOf = async (
  session: Session,
  plan: ListPlan,
  { tenantId }: CountQuery,
): Promise<Leader | undefined> => {
  if (plan.selective) return undefined
  const long = longLeaderOf(plan)
  if (long && plan.leaders.length === 1) return long
  for (const leader of plan.leaders) if (await leadsToFew(session, tenantId, leader)) return leader
  return long
}

/** Numbers of tokens. */
export interface Places {
  readonly first: number
  readonly last: number
}

const tokensOf = ({ dialect, tenantId }: PredicateContext) =>
  dialect.builder.selectFrom('tokens').where('tenant_id', '=', tenantId)

/** The number of the token that is `tokens` behind the first one a walk meets; 0 when there are fewer. */
export const placeBehind = async (
  session: Session,
  { tenantId, beforeSeq }: { readonly tenantId: string; readonly beforeSeq?: number },
  tokens: number,
): Promise<number> => {
  let rows = tokensOf({ dialect: session.dialect, tenantId, ordered: true })
  if (beforeSeq !== undefined) rows = rows.where('seq', '<', beforeSeq)
  const [row] = await session.search(
    rows.orderBy('seq', 'desc').limit(1).offset(tokens).select('seq'),
    tenantId,
  )
  return Number(row?.seq ?? 0)
}

/** Between which numbers the tokens were created that `created` allows; undefined when there are none. */
export const placesOf = async (
  session: Session,
  { created }: ListPlan,
  tenantId: string,
): Promise<Places | undefined> => {
  const context = { dialect: session.dialect, tenantId, ordered: false }
  const within = allOf(created.map((node) => searchPredicate(context, node)))
  const [row] = await session.search(
    tokensOf(context)
      .where(within)
      .select([sql<number | null>`min(seq)`.as('first'), sql<number | null>`max(seq)`.as('last')]),
    tenantId,
  )
  if (row === undefined || row.first === null || row.last === null) return undefined
  return { first: Number(row.first), last: Number(row.last) }
}
