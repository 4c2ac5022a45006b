import type { TokenSegmentsTable } from '../schema.ts'
import type { Session } from '../session.ts'
import type { TokenRow } from '../types.ts'
import { bitsOf, bytesOf, placeOf, setBit, unpackNumbers } from './bits.ts'
import { dropSegment, EVERY, groupEntryOf, segmentOf, takeBits, writeBits } from './segments.ts'
import { entryOf, type Valued, valuesOf } from './tallies.ts'

type Placed = Pick<TokenRow, 'tenant_id' | 'seq' | 'container' | 'type'> & Valued

/** Each name under which a token may have a bit. */
const entriesOf = (token: Placed): ReadonlySet<string> =>
  new Set([EVERY, groupEntryOf(token), ...valuesOf(token).map((value) => entryOf(value) as string)])

interface Move {
  readonly tenant_id: string
  readonly seq: number
  /** What it had, and has now. */
  readonly gone: ReadonlySet<string>
  readonly come: ReadonlySet<string>
}

const changedBy = ({ gone, come }: Move): readonly string[] => [
  ...[...gone].filter((entry) => !come.has(entry)),
  ...[...come].filter((entry) => !gone.has(entry)),
]

/** Moves of one tenant by segment; a new token is in none. */
const bySegment = async (
  session: Session,
  tenant_id: string,
  moves: readonly Move[],
): Promise<readonly (readonly [TokenSegmentsTable, readonly Move[]])[]> => {
  const found: [TokenSegmentsTable, Move[]][] = []
  for (const move of moves.toSorted((a, b) => a.seq - b.seq)) {
    const [segment, some] = found.at(-1) ?? []
    if (segment && move.seq <= segment.last_seq) some?.push(move)
    else {
      const next = await session.get(segmentOf, { tenant_id, seq: move.seq })
      if (next) found.push([next, [move]])
    }
  }
  return found
}

const rewrite = async (
  session: Session,
  segment: TokenSegmentsTable,
  moves: readonly Move[],
): Promise<void> => {
  const { tenant_id, last_seq } = segment
  const seqs = unpackNumbers(segment.seqs)
  const named = new Set(moves.flatMap(changedBy))
  const entries = session.dialect.list([...named])
  const rows = await session.all(takeBits, { tenant_id, segment: last_seq, entries })
  const changed = rows.map(({ entry, bits: bytes }) => {
    const bits = bitsOf(bytes, seqs.length)
    for (const { seq, gone, come } of moves) {
      const place = placeOf(seqs, seq)
      if (place === undefined) continue
      if (come.has(entry)) setBit(bits, place, true)
      else if (gone.has(entry)) setBit(bits, place, false)
    }
    return { tenant_id, entry, segment: last_seq, bits: bytesOf(bits) }
  })
  if (changed.some(({ entry, bits }) => entry === EVERY && bits.length === 0))
    return dropSegment(session, { tenant_id, segment: last_seq })
  await Promise.all(changed.map((row) => session.run(writeBits, row)))
}

/** Collects what a command does to tokens that may have bits. */
export const createBitMoves = () => {
  const before = new Map<number, Placed>()
  const after = new Map<number, Placed>()

  const moves = (): readonly Move[] =>
    [...before].map(([seq, token]) => {
      const now = after.get(seq)
      const come = now ? entriesOf(now) : new Set<string>()
      return { tenant_id: token.tenant_id, seq, gone: entriesOf(token), come }
    })

  return {
    /** It is gone, unless it arrives again. */
    removed: (token: Placed): void => {
      before.set(token.seq, token)
    },
    arrived: (token: Placed): void => {
      after.set(token.seq, token)
    },
    /** Sends nothing when there is nothing to change. */
    write: async (session: Session): Promise<void> => {
      if (before.size === 0) return
      for (const [tenant_id, some] of Map.groupBy(moves(), (move) => move.tenant_id))
        for (const [segment, within] of await bySegment(session, tenant_id, some))
          await rewrite(session, segment, within)
    },
  }
}
