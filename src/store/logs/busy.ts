import { sql } from 'kysely'
import type { Session } from '../session.ts'
import { statement } from '../statement.ts'
import { LEVELS } from './levels.ts'

/** An entity with so many logs has buckets of its own; logs of others are counted by their rows. */
const BUSY = 1_024
/** One log in so many makes the ingest look how many its entity has, so that one becomes busy soon after it could. */
export const SAMPLED = 64

const withBuckets = statement<{ tenant_id: string; entity_ids: unknown }, { entity_id: string }>(
  ({ builder, memberOf }, slot) =>
    builder
      .selectFrom('log_counts')
      .where('tenant_id', '=', slot('tenant_id'))
      .where('level', '=', sql.lit(LEVELS.length - 1))
      .where(memberOf('entity_id', slot('entity_ids')))
      .select('entity_id')
      .distinct(),
)

const someLogs = statement<{ tenant_id: string; entity_id: string }, { count: number }>(({ builder }, slot) =>
  builder
    .selectFrom((eb) =>
      eb
        .selectFrom('logs')
        .where('tenant_id', '=', slot('tenant_id'))
        .where('entity_id', '=', slot('entity_id'))
        .limit(sql.lit(BUSY))
        .select('seq')
        .as('some'),
    )
    .select(sql<number>`count(*)`.as('count')),
)

/** The buckets of one level, from all logs of an entity. */
const fillBuckets = LEVELS.map((width, level) =>
  statement<{ tenant_id: string; entity_id: string }>(({ builder }, slot) => {
    const bucket = sql<number>`created_at / ${sql.lit(width)}`
    return builder
      .insertInto('log_counts')
      .columns(['tenant_id', 'level', 'entity_id', 'bucket', 'entity_type', 'count'])
      .expression((eb) =>
        eb
          .selectFrom('logs')
          .where('tenant_id', '=', slot('tenant_id'))
          .where('entity_id', '=', slot('entity_id'))
          .groupBy(['tenant_id', 'entity_id', bucket, 'entity_type'])
          .select([
            'tenant_id',
            sql<number>`${sql.lit(level)}`.as('level'),
            'entity_id',
            bucket.as('bucket'),
            'entity_type',
            sql<number>`count(*)`.as('count'),
          ]),
      )
  }),
)

/** Those of the entities that have buckets of their own in `log_counts`. '' is none. */
export const busyOf = async (
  session: Session,
  tenant_id: string,
  entityIds: readonly string[],
): Promise<ReadonlySet<string>> => {
  const named = entityIds.filter((id) => id !== '')
  if (named.length === 0) return new Set()
  const found = await session.all(withBuckets, { tenant_id, entity_ids: session.dialect.list(named) })
  return new Set(found.map(({ entity_id }) => entity_id))
}

/** Gives an entity that has many logs buckets of all of them. */
export const countIfBusy = async (session: Session, tenant_id: string, entity_id: string): Promise<void> => {
  const entity = { tenant_id, entity_id }
  if (Number((await session.get(someLogs, entity))?.count ?? 0) < BUSY) return
  for (const fill of fillBuckets) await session.run(fill, entity)
}
