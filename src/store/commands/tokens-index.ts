import { sql } from 'kysely'
import type { TokenSegmentsTable } from '../schema.ts'
import type { Session } from '../session.ts'
import {
  bitsOf,
  bytesOf,
  countBits,
  noBits,
  packNumbers,
  placeOf,
  setBit,
  unpackNumbers,
} from '../tokens/bits.ts'
import {
  bitmapsOf,
  dropBitmap,
  dropBits,
  dropSegment,
  EVERY,
  insertSegment,
  lastSegment,
  livePlaces,
  missingBitmaps,
  segmentOf,
  segmentsAfter,
  tokensOf,
  unusedBitmaps,
  writeBitmap,
  writeBits,
} from '../tokens/segments.ts'
import { isFollowed, numbersAfter } from '../tokens/statements.ts'
import { TALLIES_LOCK } from '../tokens/tallies.ts'
import { samplesOf } from './tokens-tally.ts'

/** Bitmaps of one tenant at most, and how many of its groups, the largest, have some. */
const MAX_BITMAPS = 256
const MAX_GROUPS = 64
/** What one transaction makes at most: all writers wait for it. */
const SEGMENTS = 4
const BITMAPS = 32

type Numbered = { readonly seq: number; readonly created_at: number }

const addSegment = async (
  session: Session,
  tenant_id: string,
  tokens: readonly Numbered[],
): Promise<void> => {
  const seqs = tokens.map(({ seq }) => seq)
  const times = tokens.map(({ created_at }) => created_at)
  const [first_seq, last_seq] = [seqs[0], seqs.at(-1)] as [number, number]
  await session.run(insertSegment, {
    tenant_id,
    last_seq,
    first_seq,
    first_created_at: times.reduce((a, b) => Math.min(a, b)),
    last_created_at: times.reduce((a, b) => Math.max(a, b)),
    seqs: packNumbers(seqs),
    times: packNumbers(times),
  })
  const every = noBits(seqs.length)
  for (const place of seqs.keys()) setBit(every, place, true)
  await session.run(writeBits, { tenant_id, entry: EVERY, segment: last_seq, bits: bytesOf(every) })
}

const addBits = async (session: Session, entry: string, segment: TokenSegmentsTable): Promise<void> => {
  const { tenant_id, first_seq, last_seq } = segment
  const seqs = unpackNumbers(segment.seqs)
  const bits = noBits(seqs.length)
  const found = await session.query(
    session.dialect.builder
      .selectFrom(sql<{ seq: number }>`(${tokensOf(tenant_id, entry)})`.as('found'))
      .where('seq', '>=', first_seq)
      .where('seq', '<=', last_seq)
      .select('seq'),
    tenant_id,
  )
  for (const { seq } of found) {
    const place = placeOf(seqs, seq)
    if (place !== undefined) setBit(bits, place, true)
  }
  await session.run(writeBits, { tenant_id, entry, segment: last_seq, bits: bytesOf(bits) })
}

interface Tenant {
  readonly tenant_id: string
  /** Tokens of a segment. */
  readonly size: number
}

/** Looks what there is to do; undefined: nothing. What is found is done in the same transaction. */
type Step = (session: Session, tenant: Tenant) => Promise<(() => Promise<void>) | undefined>

const cutSegments: Step = async (session, { tenant_id, size }) => {
  const next = async () => {
    const after = (await session.get(lastSegment, { tenant_id }))?.last ?? 0
    return (await session.get(isFollowed, { tenant_id, after, by: size - 1 })) && { after }
  }
  const first = await next()
  if (first === undefined) return undefined
  return async () => {
    let place: { readonly after: number } | undefined = first
    for (let made = 0; place && made < SEGMENTS; made++) {
      const tokens = await session.all(numbersAfter, { tenant_id, ...place, limit: size })
      await addSegment(session, tenant_id, tokens)
      place = await next()
    }
  }
}

const dropUnused: Step = async (session, { tenant_id }) => {
  const unused = await session.all(unusedBitmaps, { tenant_id })
  if (unused.length === 0) return undefined
  return async () => {
    for (const { entry } of unused) {
      await session.run(dropBitmap, { tenant_id, entry })
      await session.run(dropBits, { tenant_id, entry })
    }
  }
}

const beginBitmaps: Step = async (session, { tenant_id }) => {
  const limit = MAX_BITMAPS - (await session.all(bitmapsOf, { tenant_id })).length
  const missing = await session.all(missingBitmaps, { tenant_id, groups: MAX_GROUPS, limit })
  if (missing.length === 0) return undefined
  return async () => {
    for (const { entry } of missing) await session.run(writeBitmap, { tenant_id, entry, through: 0 })
  }
}

const extendBitmaps: Step = async (session, { tenant_id }) => {
  const last = (await session.get(lastSegment, { tenant_id }))?.last ?? 0
  const short = (await session.all(bitmapsOf, { tenant_id })).filter(({ through }) => through < last)
  if (short.length === 0) return undefined
  return async () => {
    let left = BITMAPS
    for (const { entry, through } of short) {
      if (left === 0) return
      const segments = await session.all(segmentsAfter, { tenant_id, after: through, limit: left })
      for (const segment of segments) await addBits(session, entry, segment)
      await session.run(writeBitmap, { tenant_id, entry, through: segments.at(-1)?.last_seq ?? last })
      left -= segments.length
    }
  }
}

/** Of two segments side by side of which at most half a one is left, one is made. All bitmaps reach the last segment. */
const joinSegments: Step = async (session, { tenant_id, size }) => {
  const places = (await session.all(livePlaces, { tenant_id })).map(({ segment, bits }) => ({
    segment,
    count: countBits(bitsOf(bits, bits.length * 8)),
  }))
  const at = places.findIndex(({ count }, at) => at > 0 && count + places[at - 1]!.count <= size / 2)
  const [first, second] = [places[at - 1], places[at]]
  if (!first || !second) return undefined
  return async () => {
    const from = (await session.get(segmentOf, { tenant_id, seq: first.segment }))?.first_seq ?? first.segment
    const limit = first.count + second.count
    const tokens = await session.all(numbersAfter, { tenant_id, after: from - 1, limit })
    for (const { segment } of [first, second]) await dropSegment(session, { tenant_id, segment })
    await addSegment(session, tenant_id, tokens)
    const [joined] = await session.all(segmentsAfter, { tenant_id, after: from - 1, limit: 1 })
    if (!joined) return
    for (const { entry } of await session.all(bitmapsOf, { tenant_id })) await addBits(session, entry, joined)
  }
}

/** Of a tenant that has segments, once as many as can be are cut. */
const STEPS: readonly Step[] = [dropUnused, beginBitmaps, extendBitmaps, joinSegments]

/**
 * Looks at tenants that have some of the newest tokens, and some others, for one whose segments of `common` tokens or
 * bitmaps lag behind, and does a part of what is missing. True when there may be more.
 */
export const indexTokens = async (
  session: Session,
  { size, common }: { readonly size: number; readonly common: number },
): Promise<boolean> => {
  const tenants = new Set((await samplesOf(session, size)).map(({ tenant_id }) => tenant_id))
  for (const tenant_id of tenants) {
    const cut = (await session.get(lastSegment, { tenant_id }))?.last
    for (const step of cut ? [cutSegments, ...STEPS] : [cutSegments]) {
      const tenant = { tenant_id, size: common }
      if (!(await step(session, tenant))) continue
      await session.lock(TALLIES_LOCK)
      // Others may have done it meanwhile.
      const work = await step(session, tenant)
      await work?.()
      return true
    }
  }
  return false
}
