import { sql } from 'kysely'
import type { Session } from '../session.ts'
import type { DrivingIndex, ListPlan } from './plan.ts'
import { allOf, matches, type PredicateContext, searchPredicate } from './predicate.ts'
import type { CountQuery } from './rows.ts'

/** Up to this many matching tokens are sorted for a page; with more, a walk from the newest token is faster. */
const FEW = 2_000

/**
 * True when the index has few entries for these values. Ordered by the index, so that PostgreSQL does not scan the
 * table.
 */
const hasFewEntries = async (
  session: Session,
  tenantId: string,
  { entries }: DrivingIndex,
): Promise<boolean> => {
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

/** The first driving index if its entries are in list order, unless times narrow the list. */
const orderedIndexOf = (plan: ListPlan): DrivingIndex | undefined => {
  const [first] = plan.drivingIndexes
  const [entry, another] = first?.entries ?? []
  // Entries of a time range, or of several values, are not in list order.
  const ordered = another === undefined && entry?.kind !== 'range'
  return ordered && plan.created.length === 0 ? first : undefined
}

/** Index that drives the list: the first one with few entries, else one whose entries are in list order. */
export const drivingIndexOf = async (
  session: Session,
  plan: ListPlan,
  { tenantId }: CountQuery,
): Promise<DrivingIndex | undefined> => {
  if (plan.selective) return undefined
  const long = orderedIndexOf(plan)
  if (long && plan.drivingIndexes.length === 1) return long
  for (const driving of plan.drivingIndexes)
    if (await hasFewEntries(session, tenantId, driving)) return driving
  return long
}

/** Range of sequence numbers. */
export interface SeqRange {
  readonly first: number
  readonly last: number
}

const tokensOf = ({ dialect, tenantId }: PredicateContext) =>
  dialect.builder.selectFrom('tokens').where('tenant_id', '=', tenantId)

/** Sequence number of the token at offset `tokens` of a walk from the newest one; 0 when there are fewer. */
export const seqAtOffset = async (
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

/** Sequence numbers between which all tokens lie that match the plan's `created`; undefined when there are none. */
export const seqRangeOf = async (
  session: Session,
  { created }: ListPlan,
  tenantId: string,
): Promise<SeqRange | undefined> => {
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
