import { type SqlBool, sql } from 'kysely'
import type { Session } from '../session.ts'
import { ofLiveTenant, RECORD_COLUMNS, type StoredRecord } from './statements.ts'
import type { RecordListQuery } from './types.ts'
import { likePattern } from './wildcard.ts'

/** Larger than any table, and within the integer range of the engines. */
const MAX_OFFSET = 2 ** 50

/**
 * Records of one tenant, newest first. An empty array matches nothing ("any of"), nor does `where` on a member without
 * an index. Without `page` a list continues from `beforeSeq`; without `size` it is unlimited.
 */
export const findRecords = async (
  session: Session,
  collection: string,
  tenantId: string,
  { where = {}, ids, page = 1, size, name, beforeSeq }: RecordListQuery,
): Promise<{ readonly rows: readonly StoredRecord[]; readonly total: number }> => {
  const { dialect } = session
  let base = dialect.builder
    .selectFrom('records')
    .where('records.collection', '=', collection)
    .where('records.tenant_id', '=', tenantId)
    .where(ofLiveTenant(tenantId))
  if (ids !== undefined) base = base.where(dialect.memberOf('records.id', dialect.list(ids)))
  for (const [member, values] of Object.entries(where)) {
    const list = typeof values === 'string' ? [values] : values
    base = base.where('records.seq', 'in', (eb) =>
      eb
        .selectFrom('record_indexes')
        .where('record_indexes.collection', '=', collection)
        .where('record_indexes.tenant_id', '=', tenantId)
        .where('record_indexes.member', '=', member)
        .where(dialect.memberOf('record_indexes.value', dialect.list(list)))
        .select('record_indexes.seq'),
    )
  }
  if (name !== undefined) base = base.where(sql<SqlBool>`records.name like ${likePattern(name)} escape '\\'`)

  const all = (beforeSeq === undefined ? base : base.where('records.seq', '<', beforeSeq))
    .orderBy('records.seq', 'desc')
    .select(RECORD_COLUMNS)
  if (size === undefined) {
    const rows = await session.query(all, tenantId)
    return { rows, total: rows.length }
  }
  const rows = await session.search(all.limit(size).offset(Math.min((page - 1) * size, MAX_OFFSET)), tenantId)
  const [count] = await session.search(base.select(sql<number>`count(*)`.as('total')), tenantId)
  return { rows, total: Number(count?.total ?? 0) }
}
