import type { Schema, TokenTalliesTable, TokenTimesTable } from '../schema.ts'
import type { Session } from '../session.ts'
import { statement } from '../statement.ts'
import type { TokenRow } from '../types.ts'
import { addTally, entryOf, TALLIES_LOCK, type Valued, valuesOf } from './tallies.ts'
import { bucketOf, LEVELS, type TimeEvent } from './times.ts'

const addCount = statement<Schema['token_counts']>(({ builder }, slot) =>
  builder
    .insertInto('token_counts')
    .values({
      tenant_id: slot('tenant_id'),
      container: slot('container'),
      type: slot('type'),
      count: slot('count'),
      last_created_at: slot('last_created_at'),
    })
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'container', 'type']).doUpdateSet((eb) => ({
        count: eb('token_counts.count', '+', eb.ref('excluded.count')),
        last_created_at: eb
          .case()
          .when('excluded.last_created_at', '>', eb.ref('token_counts.last_created_at'))
          .then(eb.ref('excluded.last_created_at'))
          .else(eb.ref('token_counts.last_created_at'))
          .end(),
      })),
    ),
)

type Buckets = Omit<TokenTimesTable, 'level' | 'bucket'> & Record<`bucket${0 | 1 | 2}`, number>

/** The buckets of all levels with one statement: each create runs it. */
const addTimes = statement<Buckets>(({ builder }, slot) =>
  builder
    .insertInto('token_times')
    .values(
      ([0, 1, 2] as const).map((level) => ({
        tenant_id: slot('tenant_id'),
        event: slot('event'),
        level,
        bucket: slot(`bucket${level}`),
        container: slot('container'),
        type: slot('type'),
        count: slot('count'),
        first_seq: slot('first_seq'),
        last_seq: slot('last_seq'),
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'event', 'level', 'bucket', 'container', 'type']).doUpdateSet((eb) => ({
        count: eb('token_times.count', '+', eb.ref('excluded.count')),
        first_seq: eb
          .case()
          .when('excluded.first_seq', '<', eb.ref('token_times.first_seq'))
          .then(eb.ref('excluded.first_seq'))
          .else(eb.ref('token_times.first_seq'))
          .end(),
        last_seq: eb
          .case()
          .when('excluded.last_seq', '>', eb.ref('token_times.last_seq'))
          .then(eb.ref('excluded.last_seq'))
          .else(eb.ref('token_times.last_seq'))
          .end(),
      })),
    ),
)

/** A bucket that lost its last token. */
const dropEmptyBucket = statement<Omit<TokenTimesTable, 'count' | 'first_seq' | 'last_seq'>>(
  ({ builder }, slot) =>
    builder
      .deleteFrom('token_times')
      .where('tenant_id', '=', slot('tenant_id'))
      .where('event', '=', slot('event'))
      .where('level', '=', slot('level'))
      .where('bucket', '=', slot('bucket'))
      .where('container', '=', slot('container'))
      .where('type', '=', slot('type'))
      .where('count', '=', 0),
)

/** What of a token is counted. */
export interface Counted
  extends Pick<TokenRow, 'tenant_id' | 'container' | 'type' | 'seq' | 'created_at' | 'modified_at'>,
    Valued {}

type Group = Pick<Counted, 'tenant_id' | 'container' | 'type'>

type Times = Omit<TokenTimesTable, 'level' | 'bucket'> & { readonly bucket: number }

/** Rows by key, in one order everywhere, so that two transactions never wait for each other. */
const ordered = <T>(rows: ReadonlyMap<string, T>): readonly T[] =>
  [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)

/** Collects what a command does to all that is counted of tokens, and writes each count once, at its end. */
export const createCounts = () => {
  const groups = new Map<string, Schema['token_counts']>()
  const times = new Map<string, Times>()
  const tallies = new Map<string, TokenTalliesTable>()

  const count = ({ tenant_id, container, type }: Group, by: number, createdAt: number): void => {
    // Neither ids of tenants nor names of types hold a blank.
    const key = `${tenant_id} ${type} ${container}`
    const group = groups.get(key)
    if (group) {
      group.count += by
      group.last_created_at = Math.max(group.last_created_at, createdAt)
    } else groups.set(key, { tenant_id, container, type, count: by, last_created_at: createdAt })
  }

  const time = (token: Counted, by: number, event: TimeEvent, at: number): void => {
    const { tenant_id, container, type, seq } = token
    const bucket = bucketOf(0, at)
    const key = `${tenant_id} ${event} ${bucket} ${type} ${container}`
    const known = times.get(key)
    if (known) {
      known.count += by
      known.first_seq = Math.min(known.first_seq, seq)
      known.last_seq = Math.max(known.last_seq, seq)
    } else
      times.set(key, {
        tenant_id,
        event,
        bucket,
        container,
        type,
        count: by,
        first_seq: seq,
        last_seq: seq,
      })
  }

  const tally = ({ tenant_id, container, type }: Group, by: number, entry: string): void => {
    const key = `${tenant_id} ${type} ${container} ${entry}`
    const known = tallies.get(key)
    if (known) known.count += by
    else tallies.set(key, { tenant_id, entry, container, type, count: by })
  }

  const move = (token: Counted, by: number, createdAt: number): void => {
    count(token, by, createdAt)
    time(token, by, 'created', token.created_at)
    if (token.modified_at !== null) time(token, by, 'modified', token.modified_at)
    for (const value of valuesOf(token)) tally(token, by, entryOf(value) as string)
  }

  const writeTimes = async (session: Session, moved: Times): Promise<void> => {
    const { bucket: finest, ...row } = moved
    const at = finest * LEVELS[0]
    const [bucket0, bucket1, bucket2] = [finest, bucketOf(1, at), bucketOf(2, at)]
    await session.run(addTimes, { ...row, bucket0, bucket1, bucket2 })
    if (moved.count > 0) return
    for (const [level, bucket] of [bucket0, bucket1, bucket2].entries())
      await session.run(dropEmptyBucket, { ...row, level, bucket })
  }

  return {
    created: (token: Counted): void => move(token, 1, token.created_at),
    /** An update brought a token here; it is not newer for that. */
    arrived: (token: Counted): void => move(token, 1, 0),
    removed: (token: Counted): void => move(token, -1, 0),
    write: async (session: Session): Promise<void> => {
      for (const group of ordered(groups))
        if (group.count !== 0 || group.last_created_at !== 0) await session.run(addCount, group)
      // One that went and one that came leave the count as it is, but not the place.
      for (const moved of ordered(times))
        if (moved.count !== 0 || moved.first_seq !== moved.last_seq) await writeTimes(session, moved)
      if (tallies.size > 0) await session.lock(TALLIES_LOCK, 'shared')
      for (const moved of ordered(tallies)) if (moved.count !== 0) await session.run(addTally, moved)
    },
  }
}

export type Counts = ReturnType<typeof createCounts>
