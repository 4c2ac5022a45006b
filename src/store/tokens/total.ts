import { sql } from 'kysely'
import type { Session } from '../session.ts'
import { drivingIndexOf } from './driving-index.ts'
import { expired } from './expired.ts'
import { type ListPlan, planList } from './plan.ts'
import { type CountQuery, candidates, groupPredicate } from './rows.ts'

/** Total of complete groups: the sum of their counters. */
const sumOf = (session: Session, plan: ListPlan, query: CountQuery) => {
  const { dialect } = session
  const { tenantId } = query
  const sum = dialect.builder
    .selectFrom('token_counts')
    .where('tenant_id', '=', tenantId)
    .where(groupPredicate({ dialect, tenantId, ordered: false }, plan, query))
    .select(sql<number>`coalesce(sum(count), 0)`.as('count'))
  return dialect.builder.selectNoFrom(sql<number>`(${sum}) - ${expired(session, plan, query)}`.as('total'))
}

/** Total of a list, in one statement. */
export const countTokens = async (session: Session, query: CountQuery): Promise<number> => {
  const plan = planList(query)
  if (plan.visibilityIsGrouped && plan.rest.length === 0) {
    const [row] = await session.search(sumOf(session, plan, query), query.tenantId)
    return Number(row?.total ?? 0)
  }
  const driving = await drivingIndexOf(session, plan, query)
  const context = { dialect: session.dialect, tenantId: query.tenantId, ordered: false }
  const rows = candidates(context, plan, query, driving).where(groupPredicate(context, plan, query))
  const [row] = await session.search(rows.select(sql<number>`count(*)`.as('total')), query.tenantId)
  return Number(row?.total ?? 0)
}
