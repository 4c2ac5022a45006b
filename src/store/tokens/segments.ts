import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Schema, TokenBitmapsTable, TokenSegmentsTable } from '../schema.ts'
import type { Session } from '../session.ts'
import { statement } from '../statement.ts'
import type { TokenRow } from '../types.ts'
import { matches } from './predicate.ts'
import { nodeOf } from './tallies.ts'

/**
 * Tokens of a tenant in the order of their numbers are cut into segments of equal size, from the oldest on, once there
 * are enough; what is newer belongs to none yet. For each of the values that many tokens have, and for each of the largest
 * groups, `token_bits` holds a bitmap of each segment: which of its tokens have it. Where a row is, it is exact.
 */
export type TokenBit = Schema['token_bits']

/** The bitmap of the tokens that are still there; every segment has one. */
export const EVERY = 'every'

/** A group's name in `token_bits`; no type's name holds a blank. */
export const groupEntryOf = ({ type, container }: Pick<TokenRow, 'type' | 'container'>): string =>
  `group ${type} ${container}`

/** `groupEntryOf` of a row of `token_counts`. */
export const groupEntry = sql<string>`('group ' || token_counts.type || ' ' || token_counts.container)`

/** The numbers of the tokens that have a bit under a name. */
export const tokensOf = (tenantId: string, entry: string): RawBuilder<{ seq: number }> => {
  const [kind, type, ...container] = entry.split(' ')
  return kind === 'group'
    ? sql`select seq from tokens where tenant_id = ${tenantId} and container = ${container.join(' ')} and type = ${type}`
    : matches(tenantId, nodeOf(entry))
}

type Place = Pick<TokenBit, 'tenant_id' | 'segment'>

/** The segment that a token of this number would lie in. */
export const segmentOf = statement<{ tenant_id: string; seq: number }, TokenSegmentsTable>(
  ({ builder }, slot) =>
    builder
      .selectFrom('token_segments')
      .where('tenant_id', '=', slot('tenant_id'))
      .where('last_seq', '=', (eb) =>
        eb
          .selectFrom('token_segments as later')
          .where('later.tenant_id', '=', slot('tenant_id'))
          .where('later.last_seq', '>=', slot('seq'))
          .select(({ fn }) => fn.min('later.last_seq').as('last_seq')),
      )
      .where('first_seq', '<=', slot('seq'))
      .selectAll(),
)

/** As they stay to the end of the command that asks. */
export const takeBits = statement<Place & { entries: unknown }, Pick<TokenBit, 'entry' | 'bits'>>(
  (dialect, slot) =>
    dialect.taken(
      dialect.builder
        .selectFrom('token_bits')
        .where('tenant_id', '=', slot('tenant_id'))
        .where('segment', '=', slot('segment'))
        .where(dialect.memberOf('entry', slot('entries')))
        .orderBy('entry')
        .select(['entry', 'bits']),
    ),
)

export const writeBits = statement<TokenBit>(({ builder }, slot) =>
  builder
    .insertInto('token_bits')
    .values({
      tenant_id: slot('tenant_id'),
      entry: slot('entry'),
      segment: slot('segment'),
      bits: slot('bits'),
    })
    .onConflict((conflict) =>
      conflict
        .columns(['tenant_id', 'entry', 'segment'])
        .doUpdateSet((eb) => ({ bits: eb.ref('excluded.bits') })),
    ),
)

export const insertSegment = statement<TokenSegmentsTable>(({ builder }, slot) =>
  builder.insertInto('token_segments').values({
    tenant_id: slot('tenant_id'),
    last_seq: slot('last_seq'),
    first_seq: slot('first_seq'),
    first_created_at: slot('first_created_at'),
    last_created_at: slot('last_created_at'),
    seqs: slot('seqs'),
    times: slot('times'),
  }),
)

const deleteSegment = statement<Place>(({ builder }, slot) =>
  builder
    .deleteFrom('token_segments')
    .where('tenant_id', '=', slot('tenant_id'))
    .where('last_seq', '=', slot('segment')),
)

const deleteBits = statement<Pick<TokenBit, 'tenant_id' | 'entry' | 'segment'>>(({ builder }, slot) =>
  builder
    .deleteFrom('token_bits')
    .where('tenant_id', '=', slot('tenant_id'))
    .where('entry', '=', slot('entry'))
    .where('segment', '=', slot('segment')),
)

/** The number that the last segment ends with; 0 when there is none. */
export const lastSegment = statement<{ tenant_id: string }, { last: number }>(({ builder }, slot) =>
  builder
    .selectFrom('token_segments')
    .where('tenant_id', '=', slot('tenant_id'))
    .select(({ fn }) => fn.coalesce(fn.max('last_seq'), sql.lit(0)).as('last')),
)

/** From a segment on, the oldest first. */
export const segmentsAfter = statement<
  { tenant_id: string; after: number; limit: number },
  TokenSegmentsTable
>(({ builder }, slot) =>
  builder
    .selectFrom('token_segments')
    .where('tenant_id', '=', slot('tenant_id'))
    .where('last_seq', '>', slot('after'))
    .orderBy('last_seq')
    .limit(slot('limit'))
    .selectAll(),
)

/** The oldest first. */
export const livePlaces = statement<{ tenant_id: string }, Pick<TokenBit, 'segment' | 'bits'>>(
  ({ builder }, slot) =>
    builder
      .selectFrom('token_bits')
      .where('tenant_id', '=', slot('tenant_id'))
      .where('entry', '=', EVERY)
      .orderBy('segment')
      .select(['segment', 'bits']),
)

export const bitmapsOf = statement<{ tenant_id: string }, Omit<TokenBitmapsTable, 'tenant_id'>>(
  ({ builder }, slot) =>
    builder
      .selectFrom('token_bitmaps')
      .where('tenant_id', '=', slot('tenant_id'))
      .select(['entry', 'through']),
)

export const writeBitmap = statement<TokenBitmapsTable>(({ builder }, slot) =>
  builder
    .insertInto('token_bitmaps')
    .values({ tenant_id: slot('tenant_id'), entry: slot('entry'), through: slot('through') })
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'entry']).doUpdateSet((eb) => ({ through: eb.ref('excluded.through') })),
    ),
)

/** Bitmaps of values that are not counted any more, and of groups that are empty. */
export const unusedBitmaps = statement<{ tenant_id: string }, { entry: string }>(({ builder }, slot) =>
  builder
    .selectFrom('token_bitmaps')
    .where('tenant_id', '=', slot('tenant_id'))
    .where(
      sql<SqlBool>`entry not in (select entry from token_tallies where tenant_id = ${slot('tenant_id')}
        union all select ${groupEntry} from token_counts where tenant_id = ${slot('tenant_id')} and count > 0)`,
    )
    .select('entry'),
)

export const dropBitmap = statement<Pick<TokenBit, 'tenant_id' | 'entry'>>(({ builder }, slot) =>
  builder
    .deleteFrom('token_bitmaps')
    .where('tenant_id', '=', slot('tenant_id'))
    .where('entry', '=', slot('entry')),
)

export const dropBits = statement<Pick<TokenBit, 'tenant_id' | 'entry'>>(({ builder }, slot) =>
  builder
    .deleteFrom('token_bits')
    .where('tenant_id', '=', slot('tenant_id'))
    .where('entry', '=', slot('entry')),
)

/** Values and groups that shall have bitmaps and have none, `limit` at most; of the groups, the largest. */
export const missingBitmaps = statement<
  { tenant_id: string; groups: number; limit: number },
  { entry: string }
>(({ builder }, slot) => {
  const wanted = sql<{ entry: string }>`(
    select distinct entry from token_tallies where tenant_id = ${slot('tenant_id')}
    union all
    select entry from (select ${groupEntry} as entry from token_counts
      where tenant_id = ${slot('tenant_id')} and count > 0 order by count desc limit ${slot('groups')}) as largest)`
  return builder
    .selectFrom(wanted.as('wanted'))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('token_bitmaps')
            .where('token_bitmaps.tenant_id', '=', slot('tenant_id'))
            .whereRef('token_bitmaps.entry', '=', 'wanted.entry')
            .select('token_bitmaps.entry'),
        ),
      ),
    )
    .limit(slot('limit'))
    .select('wanted.entry')
})

/** With all its bitmaps. */
export const dropSegment = async (session: Session, place: Place): Promise<void> => {
  const bitmaps = await session.all(bitmapsOf, { tenant_id: place.tenant_id })
  for (const entry of [EVERY, ...bitmaps.map(({ entry }) => entry)])
    await session.run(deleteBits, { ...place, entry })
  await session.run(deleteSegment, place)
}
