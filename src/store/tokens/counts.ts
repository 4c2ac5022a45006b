import type { Schema, TokenTalliesTable, TokenTimesTable } from '../schema.ts'
import type { Session } from '../session.ts'
import { statement } from '../statement.ts'
import type { TokenRow } from '../types.ts'
import { createBitMoves } from './bit-moves.ts'
import { addTally, entryOf, type Valued, valuesOf } from './tallies.ts'
import { bucketOf, LEVELS, type TimeEvent } from './times.ts'

const addCount = statement<Schema['token_counts']>(({ builder, rows }, slot) =>
  builder
    .insertInto('token_counts')
    .columns(['tenant_id', 'container', 'type', 'count', 'last_created_at'])
    .expression(
      rows(slot, {
        tenant_id: 'text',
        container: 'text',
        type: 'text',
        count: 'bigint',
        last_created_at: 'bigint',
      }),
    )
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

const addTimes = statement<TokenTimesTable>(({ builder, rows }, slot) =>
  builder
    .insertInto('token_times')
    .columns(['tenant_id', 'event', 'level', 'bucket', 'container', 'type', 'count', 'first_seq', 'last_seq'])
    .expression(
      rows(slot, {
        tenant_id: 'text',
        event: 'text',
        level: 'bigint',
        bucket: 'bigint',
        container: 'text',
        type: 'text',
        count: 'bigint',
        first_seq: 'bigint',
        last_seq: 'bigint',
      }),
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

/** Rows by key, in one order everywhere, so that two transactions never wait for each other. */
const ordered = <T>(rows: ReadonlyMap<string, T>): readonly T[] =>
  [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)

const addTime = (times: Map<string, TokenTimesTable>, row: TokenTimesTable): void => {
  const { tenant_id, event, level, bucket, container, type } = row
  // Neither ids of tenants nor names of types hold a blank.
  const key = `${tenant_id} ${event} ${level} ${bucket} ${type} ${container}`
  const known = times.get(key)
  if (known === undefined) {
    times.set(key, { ...row })
    return
  }
  known.count += row.count
  known.first_seq = Math.min(known.first_seq, row.first_seq)
  known.last_seq = Math.max(known.last_seq, row.last_seq)
}

/** The buckets of all levels, of those of the finest one. */
const atAllLevels = (finest: readonly TokenTimesTable[]): readonly TokenTimesTable[] => {
  const times = new Map<string, TokenTimesTable>()
  for (const row of finest)
    for (const level of LEVELS.keys())
      addTime(times, { ...row, level, bucket: bucketOf(level, row.bucket * LEVELS[0]) })
  return ordered(times)
}

/** Collects what a command does to all that is counted of tokens, and writes each count once, at its end. */
export const createCounts = () => {
  const groups = new Map<string, Schema['token_counts']>()
  const times = new Map<string, TokenTimesTable>()
  const tallies = new Map<string, TokenTalliesTable>()
  const bits = createBitMoves()

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
    addTime(times, {
      tenant_id,
      event,
      level: 0,
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

  return {
    created: (token: Counted): void => move(token, 1, token.created_at),
    /** An update brought a token here; it is not newer for that. */
    arrived: (token: Counted): void => {
      move(token, 1, 0)
      bits.arrived(token)
    },
    removed: (token: Counted): void => {
      move(token, -1, 0)
      bits.removed(token)
    },
    /**
     * Where tokens are new only, all of it is sent at once: what is sent after the call finds it done, or a transaction
     * that has failed. The command holds `TALLIES_LOCK`, shared.
     */
    write: async (session: Session): Promise<void> => {
      // One that went and one that came leave the count as it is, but not the place.
      const moved = atAllLevels(
        ordered(times).filter(({ count, first_seq, last_seq }) => count !== 0 || first_seq !== last_seq),
      )
      await Promise.all([
        session.runAll(
          addCount,
          ordered(groups).filter(({ count, last_created_at }) => count !== 0 || last_created_at !== 0),
        ),
        session.runAll(addTimes, moved),
        ...moved.filter(({ count }) => count <= 0).map((row) => session.run(dropEmptyBucket, row)),
        session.runAll(
          addTally,
          ordered(tallies).filter(({ count }) => count !== 0),
        ),
        bits.write(session),
      ])
    },
  }
}

export type Counts = ReturnType<typeof createCounts>
