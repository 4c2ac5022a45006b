import { type SqlBool, sql } from 'kysely'
import type { Session } from '../session.ts'
import { statement } from '../statement.ts'
import { monthOf } from './month.ts'
import type { TypeUsage, UsageStore } from './types.ts'

const countsByType = statement<
  { tenant_id: string },
  { type: string; count: number | null; last_created_at: number | null }
>(({ builder }, slot) =>
  builder
    .selectFrom('token_counts')
    .where('tenant_id', '=', slot('tenant_id'))
    .groupBy('type')
    .orderBy('type')
    .select(({ fn }) => [
      'type',
      fn.sum<number | null>('count').as('count'),
      fn.max<number | null>('last_created_at').as('last_created_at'),
    ]),
)

/** Expired but not yet purged tokens, which counters include. */
const expiredByType = statement<{ tenant_id: string; now: number }, { type: string; count: number }>(
  (dialect, slot) =>
    dialect.builder
      .selectFrom('tokens')
      .where('expires_at', '<=', slot('now'))
      .where(sql<SqlBool>`${dialect.unindexed('tenant_id')} = ${slot('tenant_id')}`)
      .groupBy('type')
      .select(['type', sql<number>`count(*)`.as('count')]),
)

const activeInMonth = statement<{ tenant_id: string; month: number }, { count: number }>(
  ({ builder }, slot) =>
    builder
      .selectFrom('active_counts')
      .where('tenant_id', '=', slot('tenant_id'))
      .where('month', '=', slot('month'))
      .select('count'),
)

export const createUsageStore = ({ session }: { readonly session: Session }): UsageStore => ({
  types: async (tenant_id, now) => {
    const [counts, expired] = await Promise.all([
      session.all(countsByType, { tenant_id }),
      session.all(expiredByType, { tenant_id, now }),
    ])
    const gone = new Map(expired.map(({ type, count }) => [type, Number(count)]))
    return counts
      .map(
        ({ type, count, last_created_at }): TypeUsage => ({
          type,
          count: Number(count ?? 0) - (gone.get(type) ?? 0),
          last_created_at: Number(last_created_at ?? 0),
        }),
      )
      .filter(({ count }) => count > 0)
  },
  active: async (tenant_id, now) =>
    (await session.get(activeInMonth, { tenant_id, month: monthOf(now) }))?.count ?? 0,
})
