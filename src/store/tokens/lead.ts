import { type SqlBool, sql } from 'kysely'
import type { Session } from '../session.ts'
import type { Leader, ListPlan } from './plan.ts'
import { type CountQuery, groupPredicate } from './rows.ts'
import { common } from './tallies.ts'
import { countInRange, placesOf, timeRangeOf } from './times.ts'

/** Tokens modified in a range of times are put in order when they are no more than these, else met on a walk. */
const FEW = 2_000

/** Whether an entry leads to so many tokens that another way to them may be shorter. */
const leadsToMany = async (session: Session, tenantId: string, { entries }: Leader): Promise<boolean> => {
  for (const entry of entries) {
    if (entry.kind !== 'range') continue
    const range = timeRangeOf(entry)
    const every = sql<SqlBool>`1 = 1`
    const counted = { dialect: session.dialect, tenantId, groups: every }
    if (range === undefined) return true
    const total = countInRange(counted, range, every)
    const [row] = await session.search(session.dialect.builder.selectNoFrom(total.as('total')), tenantId)
    if (Number(row?.total ?? 0) > FEW) return true
  }
  return (await common(session, tenantId, entries)).size > 0
}

/** The first of a list's leaders that leads to few tokens. */
export const shortLeaderOf = async (
  session: Session,
  plan: ListPlan,
  { tenantId }: CountQuery,
): Promise<Leader | undefined> => {
  if (plan.selective) return undefined
  for (const leader of plan.leaders) if (!(await leadsToMany(session, tenantId, leader))) return leader
  return undefined
}

/** What leads to the tokens of a list where none leads to few: the first, unless times narrow it. */
export const longLeaderOf = (plan: ListPlan): Leader | undefined => {
  if (plan.selective) return undefined
  const [first] = plan.leaders
  const [entry, another] = first?.entries ?? []
  // Neither a range of times nor one of several values is in an order that a list could be walked in.
  const ordered = another === undefined && entry?.kind !== 'range'
  return ordered && plan.created === undefined ? first : undefined
}

/** What leads to the tokens of a list. */
export const leaderOf = async (
  session: Session,
  plan: ListPlan,
  query: CountQuery,
): Promise<Leader | undefined> => (await shortLeaderOf(session, plan, query)) ?? longLeaderOf(plan)

/** Between which numbers the tokens of a list were created; undefined: anywhere, 'nowhere': there are none. */
export const placesIn = async (
  session: Session,
  plan: ListPlan,
  query: CountQuery,
): Promise<{ readonly first: number; readonly last: number } | 'nowhere' | undefined> => {
  if (plan.created === undefined) return undefined
  const { dialect } = session
  const { tenantId } = query
  if (plan.created.from >= plan.created.to) return 'nowhere'
  const groups = groupPredicate({ dialect, tenantId, ordered: false }, plan, query)
  const [row] = await session.search(placesOf({ dialect, tenantId, groups }, plan.created), tenantId)
  if (row === undefined || row.first === null || row.last === null) return 'nowhere'
  return { first: Number(row.first), last: Number(row.last) }
}
