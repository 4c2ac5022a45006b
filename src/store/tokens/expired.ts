import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Session } from '../session.ts'
import type { ListPlan } from './plan.ts'
import { type CountQuery, groupPredicate } from './rows.ts'

/** Number of tokens of the plan's groups that are expired but not yet purged, and so included in counters. */
export const expired = ({ dialect }: Session, plan: ListPlan, query: CountQuery): RawBuilder<number> => {
  const context = { dialect, tenantId: query.tenantId, ordered: true }
  const rows = dialect.builder
    .selectFrom('tokens')
    .where('expires_at', '<=', query.now)
    .where(sql<SqlBool>`${dialect.unindexed('tenant_id')} = ${query.tenantId}`)
    .where(groupPredicate(context, plan, query))
  return sql`(${rows.select(sql<number>`count(*)`.as('expired'))})`
}
