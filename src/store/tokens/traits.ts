import { sql } from 'kysely'
import type { Session } from '../session.ts'
import { live, tenantTokens } from './statements.ts'
import { egressOf } from './token-row.ts'
import type { TokenGroup, TokenTraits } from './types.ts'

/** Groups of a tenant behind one of them, in order of container and type. */
export const groupsAfter = (
  session: Session,
  tenantId: string,
  after: TokenGroup,
  limit: number,
): Promise<readonly TokenGroup[]> =>
  session.search(
    session.dialect.builder
      .selectFrom('token_counts')
      .where('tenant_id', '=', tenantId)
      .where((eb) => eb(eb.refTuple('container', 'type'), '>', eb.tuple(after.container, after.type)))
      .where('count', '>', 0)
      .orderBy('container')
      .orderBy('type')
      .limit(limit)
      .select(['container', 'type']),
    tenantId,
  )

/** Traits of at most `limit` live tokens of a group, counted. */
export const traitsOf = async (
  session: Session,
  tenantId: string,
  { container, type }: TokenGroup,
  now: number,
  limit: number,
): Promise<readonly (TokenTraits & { readonly tokens: number })[]> => {
  const { dialect } = session
  const tokens = tenantTokens(dialect, tenantId)
    .where('container', '=', container)
    .where('type', '=', type)
    .where(live(now))
    .limit(limit)
    .select(['masked', 'egress'])
  const rows = await session.search(
    dialect.builder
      .selectFrom(tokens.as('found'))
      .groupBy(['masked', 'egress'])
      .select(['masked', 'egress', sql<number>`count(*)`.as('tokens')]),
    tenantId,
  )
  return rows.map(({ masked, egress, tokens }) => ({
    type,
    masked,
    egress: egressOf(egress),
    tokens: Number(tokens),
  }))
}
